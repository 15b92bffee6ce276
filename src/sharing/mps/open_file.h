#pragma once
// The file `.open` in the folder of the control daemons. By this file the agent tells the daemons'
// supervisor, which runs in another container, of which resources the daemons' limits are to be
// left open, because claims get the GPUs: their shares are of any size, so each container's own
// environment lowers the limits to its part, and MPS cannot raise them. The supervisor answers in
// the daemon's ready file (mps/ready_file.h).
//
// One resource a line: "nvidia.com/gpu". No file: none.

#include <filesystem>
#include <set>
#include <string>

#include "base/result.h"

namespace tranche::mps {

// `root`: "/mps".
std::filesystem::path open_file(const std::filesystem::path& root);

// A file that cannot be read is an error; one that is not there is empty.
Result<std::set<std::string>> read_open(const std::filesystem::path& root);
// Writes what differs. Without resources the file is removed, and nothing is written where there is
// none.
Result<void> write_open(const std::filesystem::path& root, const std::set<std::string>& resources);

}  // namespace tranche::mps
