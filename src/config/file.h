#pragma once
// The configuration file as settings: from the YAML tree, every key known or reported, every value
// of its type. Nothing is defaulted, merged with other sources or judged here beyond what NVIDIA's
// parser judges while it parses.

#include <string>

#include "base/yaml.h"
#include "config/problems.h"
#include "config/settings.h"

namespace tranche::config {

// More replicas of one device than this cannot reach kubelet: its gRPC client takes lists of at
// most 4 MiB, and one replica takes about 64 bytes of it.
inline constexpr std::int64_t kMaxReplicas = 65'536;

// `name` is how messages call the file.
Settings read_file(const yaml::Document& document, const std::string& name, Problems& problems);

}  // namespace tranche::config
