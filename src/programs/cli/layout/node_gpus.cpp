#include "cli/layout/node_gpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/printable.h"

namespace tranche::cli {
namespace {

constexpr const char* kMigEnabled = "enabled";
constexpr const char* kMigUnsupported = "unsupported";
constexpr const char* kClaims = "claims";

// In the driver's order, each profile once: "3g.40gb", "1g.10gb x 2".
std::vector<std::string> counted(const std::vector<cluster::GpuNodeInstance>& instances) {
  std::map<std::string, int> counts;
  std::vector<std::string> order;
  for (const auto& instance : instances) {
    if (counts[instance.profile]++ == 0) order.push_back(instance.profile);
  }
  for (auto& profile : order) {
    const auto count = counts[profile];
    if (count > 1) profile += fmt::format(" x {}", count);
  }
  return order;
}

// Nothing was published, or cannot be: no agent of this release, no such kind, an early snapshot.
bool is_absence(Code code) { return code == Code::kNotFound || code == Code::kUnsupported; }

json::Value instances_of(const cluster::GpuNodeGpu& gpu) {
  if (!gpu.instances) return nullptr;
  auto list = json::Value::array();
  for (const auto& instance : *gpu.instances) {
    list.push_back({{"uuid", instance.uuid}, {"profile", instance.profile}});
  }
  return list;
}

}  // namespace

NodeGpus read_node_gpus(cluster::Objects& objects, const std::string& node) {
  const auto object = objects.get(cluster::kGpuNode, {.ns = "", .name = node});
  if (!object && is_absence(object.error().code)) return {};
  if (!object) return {.trouble = object.error().message()};
  auto read = cluster::parse_gpu_node(object->json);
  if (!read) return {.trouble = read.error().message()};
  if (!read->status) return {};
  auto& status = *read->status;
  return {
      .published = true, .gpus = std::move(status.gpus), .resources = std::move(status.resources)};
}

std::string mig_text(const cluster::GpuNodeGpu& gpu) {
  if (gpu.mig == kMigUnsupported) return "no MIG";
  if (gpu.mig.empty()) return "MIG not known";
  if (gpu.mig != kMigEnabled) return "MIG off";
  if (!gpu.instances) return "MIG on, instances not known";
  if (gpu.instances->empty()) return "MIG on, no instances";
  return fmt::format("{}", fmt::join(counted(*gpu.instances), ", "));
}

std::string describe(const NodeGpus& gpus) {
  // The texts are of whoever may write the object, and go to a terminal.
  if (!gpus.trouble.empty()) {
    return fmt::format("  {:<10} not known: {}\n", "GPUs", printable(gpus.trouble));
  }
  std::string text;
  for (const auto& gpu : gpus.gpus) {
    text += fmt::format("  {:<10} {}\n", fmt::format("GPU {}", gpu.index),
                        printable(fmt::format("{}: {}", gpu.model, mig_text(gpu))));
  }
  return text;
}

std::string soon_text(const NodeGpus& gpus, const std::map<std::string, std::int64_t>& offers) {
  std::vector<std::string> parts;
  for (const auto& resource : gpus.resources) {
    const auto told = offers.find(resource.name);
    const bool is_told = told != offers.end() && told->second > 0;
    // Claims take theirs from ResourceSlices.
    if (resource.sharing == kClaims || resource.healthy == 0 || is_told) continue;
    parts.push_back(printable(fmt::format("{} {}", resource.name, resource.healthy)));
  }
  if (parts.empty()) return {};
  return fmt::format("  {:<10} {}: the agent serves it, and kubelet tells the Node every 10 s\n",
                     "soon", fmt::join(parts, ", "));
}

json::Value document_of(const NodeGpus& gpus) {
  auto list = json::Value::array();
  for (const auto& gpu : gpus.gpus) {
    list.push_back({{"index", gpu.index},
                    {"model", gpu.model},
                    {"uuid", gpu.uuid},
                    {"mig", gpu.mig},
                    {"instances", instances_of(gpu)}});
  }
  return list;
}

}  // namespace tranche::cli
