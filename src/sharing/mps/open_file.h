#pragma once
// The file `.open` in the folder of the control daemons. It tells the daemons' supervisor, which
// runs in another container, which resources' daemons should leave their limits open because claims
// get the GPUs. Claims' shares are of any size, so each container's own environment lowers the
// limits to its part; MPS cannot raise them. The supervisor answers in the daemon's ready file
// (mps/ready_file.h).
//
// One resource per line: "nvidia.com/gpu". No file: none.

#include <filesystem>
#include <set>
#include <string>

#include "base/result.h"

namespace tranche::mps {

// `root`: "/mps".
std::filesystem::path open_file(const std::filesystem::path& root);

// An unreadable file is an error; a missing one is empty.
Result<std::set<std::string>> read_open(const std::filesystem::path& root);
// Writes only if something changed. Without resources the file is removed, or not
// created.
Result<void> write_open(const std::filesystem::path& root, const std::set<std::string>& resources);

}  // namespace tranche::mps
