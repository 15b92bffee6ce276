#pragma once
// The parts of the file that NVIDIA's program decodes by hand, key by key and with case:
// `resources:` and `sharing:`.

#include "config/file/file_node.h"
#include "config/file/settings.h"

namespace tranche::config {

// More replicas of one device than this cannot reach kubelet: its gRPC client takes lists of at
// most 4 MiB, and one replica takes about 64 bytes of it.
inline constexpr std::int64_t kMaxReplicas = 65'536;

// resources.gpus or resources.mig.
std::vector<FilePattern> read_patterns(const FileNode& list);

// sharing.timeSlicing or sharing.mps; null here means an empty mapping.
FileSharing read_replicated(const FileNode& node);

}  // namespace tranche::config
