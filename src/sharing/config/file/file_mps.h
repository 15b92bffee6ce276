#pragma once
// Reads tranche.mps. Errors go to the problems, with their lines.

#include "config/file/file_node.h"
#include "config/file/settings.h"

namespace tranche::config {

FileMps read_mps(const FileNode& node);

}  // namespace tranche::config
