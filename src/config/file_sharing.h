#pragma once
// The parts of the file that NVIDIA's program decodes by hand, key by key and with case:
// `resources:` and `sharing:`.

#include "config/file_node.h"
#include "config/settings.h"

namespace tranche::config {

// resources.gpus or resources.mig.
std::vector<FilePattern> read_patterns(const FileNode& list);

// sharing.timeSlicing or sharing.mps; null here means an empty mapping.
FileSharing read_replicated(const FileNode& node);

}  // namespace tranche::config
