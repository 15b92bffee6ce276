#pragma once
// The parts of the file that NVIDIA's program decodes by hand, key by key and case-sensitively:
// `resources:` and `sharing:`.

#include "config/file/file_node.h"
#include "config/file/settings.h"

namespace tranche::config {

// Kubelet cannot receive more replicas of one device than this: its gRPC client accepts lists of at
// most 4 MiB, and one replica takes about 64 bytes.
inline constexpr std::int64_t kMaxReplicas = 65'536;

// resources.gpus or resources.mig.
std::vector<FilePattern> read_patterns(const FileNode& list);

// sharing.timeSlicing or sharing.mps; null here means an empty mapping.
FileSharing read_replicated(const FileNode& node);

}  // namespace tranche::config
