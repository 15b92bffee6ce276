#include "mig/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "cluster/formats/mig_change.h"
#include "mig/node_filter.h"

namespace tranche::mig {
namespace {

using cluster::Node;
using cluster::SnapshotPod;

constexpr std::size_t kNamedNodes = 3;  // nodes
constexpr std::string_view kInstance = "nvidia.com/mig-";
constexpr std::string_view kGpu = "nvidia.com/gpu";

bool is_instance(std::string_view resource) { return resource.starts_with(kInstance); }
// Sharing by the configuration makes these, and no MIG layout.
bool is_shared(std::string_view resource) { return resource.ends_with(".shared"); }
// nvidia.com/gpu or nvidia.com/gpu.shared.
bool is_of_gpus(std::string_view resource) {
  return is_instance(resource) || resource.starts_with(kGpu);
}

bool has_instances(const Node& node) {
  return std::ranges::any_of(node.allocatable, [&](const auto& entry) {
    return is_instance(entry.first) && allocatable(node, entry.first) > 0;
  });
}

bool is_changing(const Node& node) { return node.labels.contains(cluster::kMigChangeLabel); }

// "nvidia.com/mig-1g.10gb: 28": the GPU resources that the node offers.
std::string offers_text(const Node& node) {
  std::vector<std::string> parts;
  for (const auto& [resource, quantity] : node.allocatable) {
    const auto amount = allocatable(node, resource);
    if (amount == 0 || !is_of_gpus(resource)) continue;
    parts.push_back(fmt::format("{}: {}", resource, amount));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string node_text(const Node& node) {
  const auto layout = cluster::value_of(node.labels, cluster::kMigConfigLabel);
  const auto offers = offers_text(node);
  return fmt::format("{}{} offers {}", node.name,
                     layout.empty() ? "" : fmt::format(" (MIG layout {})", layout),
                     offers.empty() ? "none" : offers);
}

std::string nodes_text(const std::vector<const Node*>& nodes) {
  std::vector<std::string> parts;
  for (const auto* node : nodes) {
    if (parts.size() < kNamedNodes) parts.push_back(node_text(*node));
  }
  auto text = fmt::format("{}", fmt::join(parts, "; "));
  if (nodes.size() > kNamedNodes)
    text += fmt::format("; and {} more nodes", nodes.size() - kNamedNodes);
  return text;
}

// The list of nodes comes last: a long Event is cut at its end.
std::string reason_text(const std::string& resource, std::int64_t amount,
                        const std::vector<const Node*>& nodes) {
  return fmt::format(
      "no node that takes this Pod has {}: {}, for GPUs there have another MIG layout. Ask for "
      "what "
      "they offer, or give a node a layout that has it (tranche layout apply --node {} -c LAYOUT): "
      "{}",
      resource, amount, nodes.front()->name, nodes_text(nodes));
}

// Whether another layout of the node might have the resource.
bool could_have(const Node& node, const std::string& resource) {
  if (is_shared(resource)) return false;
  const bool is_capable = cluster::value_of(node.labels, "nvidia.com/mig.capable") == "true";
  return has_instances(node) || (is_instance(resource) && is_capable);
}

// The nodes that might have the amount with another layout, if none has it now.
std::vector<const Node*> nodes_in_the_way(const std::vector<const Node*>& taking,
                                          const std::string& resource, std::int64_t amount) {
  std::vector<const Node*> found;
  for (const auto* node : taking) {
    const bool has_it = allocatable(*node, resource) >= amount;
    if (has_it || (could_have(*node, resource) && is_changing(*node))) return {};
    if (could_have(*node, resource)) found.push_back(node);
  }
  return found;
}

}  // namespace

bool waits_for_gpus(const SnapshotPod& pod) {
  const auto& one = pod.pod;
  if (!one.node.empty() || one.deleting || one.unschedulable.empty()) return false;
  return std::ranges::any_of(cluster::requests_of(one), [](const auto& ask) {
    return ask.second > 0 && is_of_gpus(ask.first);
  });
}

std::optional<std::string> explain_waiting(const SnapshotPod& pod, const std::vector<Node>& nodes) {
  if (!waits_for_gpus(pod)) return std::nullopt;
  const NodeFilter filter(pod);
  std::vector<const Node*> taking;
  for (const auto& node : nodes) {
    if (filter.takes(node)) taking.push_back(&node);
  }
  for (const auto& [resource, amount] : cluster::requests_of(pod.pod)) {
    if (amount == 0 || !is_of_gpus(resource)) continue;
    const auto found = nodes_in_the_way(taking, resource, amount);
    if (!found.empty()) return reason_text(resource, amount, found);
  }
  return std::nullopt;
}

}  // namespace tranche::mig
