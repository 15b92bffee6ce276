#pragma once
// The key `tranche.limits` of the file.

#include "config/file/file_node.h"
#include "config/file/settings.h"

namespace tranche::config {

// `node` is not null. What cannot be read is reported, and left out.
FileLimitTable read_limits(const FileNode& node);

}  // namespace tranche::config
