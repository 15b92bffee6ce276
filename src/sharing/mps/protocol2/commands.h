#pragma once
// The commands of protocol 2 for a control daemon: lines for its shell. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mps/daemon.h"

namespace tranche::mps {

// The commands after the daemon's start, in NVIDIA's order: memory of each device, then the
// percentage. They apply to servers that the daemon starts after them.
std::vector<std::string> default_commands(const Daemon& daemon);

// The commands of a change for the daemon's future servers; see default_commands().
std::vector<std::string> retune_commands(const Daemon& before, const Daemon& daemon);
// The commands of a change for one running server, so that its next client has the new limits.
// Running clients keep theirs: MPS does not change them.
std::vector<std::string> retune_server_commands(const Daemon& before, const Daemon& daemon,
                                                const std::string& server);

// Extracts the total number of chunks of `uuid` from a line of `lspart`; nullopt: not in this line.
std::optional<int> lspart_chunks(const std::string& line, std::string_view uuid);

}  // namespace tranche::mps
