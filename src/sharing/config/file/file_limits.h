#pragma once
// The key `tranche.limits` of the file.

#include "config/file/file_node.h"
#include "config/file/settings.h"

namespace tranche::config {

// `node` must not be null. Unreadable values are reported and skipped.
FileLimitTable read_limits(const FileNode& node);

}  // namespace tranche::config
