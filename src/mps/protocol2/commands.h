#pragma once
// What a control daemon of protocol 2 is told: lines for its shell. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mps/daemon.h"

namespace tranche::mps {

// After its start, in NVIDIA's order: memory of each device, then the percentage. They count for
// servers that it starts from then on.
std::vector<std::string> default_commands(const Daemon& daemon);

// Of a change: what the daemon is told for its servers to come, as default_commands().
std::vector<std::string> retune_commands(const Daemon& before, const Daemon& daemon);
// And for each of its servers that runs, so that the next client has the new limits. Clients that
// run keep theirs: MPS changes nothing under them.
std::vector<std::string> retune_server_commands(const Daemon& before, const Daemon& daemon,
                                                const std::string& server);

// Of a line of `lspart`: how many chunks `uuid` has in all; nullopt: the line does not say so.
std::optional<int> lspart_chunks(const std::string& line, std::string_view uuid);

}  // namespace tranche::mps
