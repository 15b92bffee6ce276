#include "cluster/snapshot/early_gpus.h"

#include <utility>

namespace tranche::cluster {
namespace {

bool says(const Fields& fields, std::string_view key) {
  return fields.has(key) && fields.view().find(key)->kind() != json::Kind::kNull;
}

std::optional<Bytes> read_memory(const Fields& fields) {
  if (!says(fields, "memoryBytes")) return std::nullopt;
  const auto bytes = fields.number("memoryBytes");
  if (bytes < 0) fields.refuse("memoryBytes", "is negative");
  return Bytes{static_cast<std::uint64_t>(bytes)};
}

std::optional<std::vector<GpuNodeInstance>> read_instances(const Fields& gpu) {
  if (!says(gpu, "migInstances")) return std::nullopt;
  std::vector<GpuNodeInstance> instances;
  for (const auto& item : gpu.list("migInstances")) {
    item.require({"uuid", "profile", "memoryBytes"});
    instances.push_back({.uuid = item.text("uuid"),
                         .profile = item.text("profile"),
                         .slot = std::ssize(instances),
                         .memory = read_memory(item)});
  }
  return instances;
}

GpuNodeGpu read_gpu(const Fields& item, std::int64_t index) {
  item.require({"uuid", "model", "memoryBytes", "migEnabled", "migInstances"});
  GpuNodeGpu gpu{.index = index,
                 .uuid = item.text("uuid"),
                 .model = item.text("model"),
                 .memory = read_memory(item),
                 .instances = read_instances(item)};
  if (const auto enabled = item.maybe_boolean("migEnabled")) {
    gpu.mig = *enabled ? "enabled" : "disabled";
  }
  return gpu;
}

}  // namespace

std::optional<GpuNode> read_early_gpus(const Fields& entry) {
  if (!says(entry, "gpus")) return std::nullopt;
  GpuNode node{.name = entry.object("node").object("metadata").text("name"),
               .status = GpuNodeStatus()};
  for (const auto& item : entry.list("gpus")) {
    node.status->gpus.push_back(read_gpu(item, std::ssize(node.status->gpus)));
  }
  return node;
}

}  // namespace tranche::cluster
