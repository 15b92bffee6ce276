#pragma once
// Reads tranche.mps. What is wrong goes to the problems, with its line.

#include "config/file/file_node.h"
#include "config/file/settings.h"

namespace tranche::config {

FileMps read_mps(const FileNode& node);

}  // namespace tranche::config
