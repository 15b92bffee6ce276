#include "fleet/node_count.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace tranche::fleet {
namespace {

using cluster::GpuNodeDevice;
using cluster::GpuNodeResource;
using cluster::GpuNodeStatus;
using usage::Mechanism;

std::uint64_t less(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

// The agent's own numbers are bounded by its format; a negative one is none.
std::uint64_t number(std::int64_t value) {
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

Mechanism mechanism_of(const GpuNodeResource& resource) {
  if (resource.sharing == "mps") return Mechanism::kMps;
  if (resource.sharing == "time-slicing") return Mechanism::kTimeSlicing;
  const bool mig = !resource.devices.empty() && is_instance(resource.devices.front().uuid);
  return mig ? Mechanism::kMig : mechanism_by_name(resource.name);
}

std::set<std::string> unhealthy_devices(const GpuNodeStatus& status) {
  std::set<std::string> devices;
  for (const auto& gpu : status.gpus) {
    if (!gpu.unhealthy.empty()) devices.insert(gpu.uuid);
    if (!gpu.instances) continue;
    for (const auto& instance : *gpu.instances) {
      if (!gpu.unhealthy.empty() || !instance.unhealthy.empty()) devices.insert(instance.uuid);
    }
  }
  return devices;
}

std::map<std::string, std::uint64_t> held_tranches(const GpuNodeStatus& status,
                                                   const std::string& resource) {
  std::map<std::string, std::uint64_t> held;  // by device
  for (const auto& holding : status.holdings) {
    if (holding.wire == "device-plugin" && holding.resource == resource) ++held[holding.device];
  }
  return held;
}

// Tranches that are withheld or unhealthy, and held all the same.
std::uint64_t withheld_and_held(const GpuNodeStatus& status, const GpuNodeResource& resource) {
  const auto unhealthy = unhealthy_devices(status);
  const auto held = held_tranches(status, resource.name);
  std::uint64_t both = 0;
  for (const auto& device : resource.devices) {
    const auto found = held.find(device.uuid);
    if (found == held.end()) continue;
    const auto all = number(device.tranches);
    const auto kept = unhealthy.contains(device.uuid) ? all : number(device.withheld);
    both += less(std::min(found->second, all) + kept, all);
  }
  return both;
}

// With `advertised`, `allocated`, and in `withheld` all that is not healthy and not held.
NodeTranches settled(NodeTranches one, bool open) {
  one.withheld = std::min(one.withheld, less(one.advertised, one.allocated));
  one.left = less(one.advertised, sum_of(one.allocated, one.withheld));
  one.free = open ? one.left : 0;
  return one;
}

NodeTranches counted(const GpuNodeStatus& status, const GpuNodeResource& resource,
                     const NodeFacts* node, const Amounts& asked) {
  NodeTranches made{.resource = resource.name,
                    .mechanism = mechanism_of(resource),
                    .advertised = number(resource.tranches)};
  if (const auto found = asked.find(resource.name); found != asked.end()) {
    made.allocated = found->second;
  }
  auto healthy = number(resource.healthy);
  if (node != nullptr) {
    const auto seen = node->resources.find(resource.name);
    healthy = std::min(healthy, seen == node->resources.end() ? 0 : seen->second.allocatable);
  }
  made.withheld = less(less(made.advertised, healthy), withheld_and_held(status, resource));
  return made;
}

// A device counts as allocated once a claim has a part of it.
void add_claimed(const GpuNodeStatus& status, const GpuNodeResource& resource, bool open,
                 std::vector<NodeTranches>& all) {
  std::set<std::string> held;
  for (const auto& holding : status.holdings) {
    if (holding.wire == "claim") held.insert(holding.device);
  }
  const auto unhealthy = unhealthy_devices(status);
  for (const auto mechanism : {Mechanism::kMig, Mechanism::kShare}) {
    NodeTranches made{.resource = resource.name, .mechanism = mechanism, .by_claims = true};
    for (const auto& device : resource.devices) {
      if (is_instance(device.uuid) != (mechanism == Mechanism::kMig)) continue;
      ++made.advertised;
      const bool is_held = held.contains(device.uuid);
      if (is_held) ++made.allocated;
      if (!is_held && unhealthy.contains(device.uuid)) ++made.withheld;
    }
    if (made.advertised > 0) all.push_back(settled(std::move(made), open));
  }
}

Mechanism mechanism_by_labels(const std::string& resource, const NodeFacts& node) {
  const auto by_name = mechanism_by_name(resource);
  if (by_name != Mechanism::kExclusive) return by_name;
  const auto& strategy = cluster::value_of(node.labels, "nvidia.com/gpu.sharing-strategy");
  if (strategy == "mps") return Mechanism::kMps;
  return strategy == "time-slicing" ? Mechanism::kTimeSlicing : Mechanism::kExclusive;
}

NodeTranches by_kubelet(const std::string& resource, const NodeCount& count, const NodeFacts& node,
                        const Amounts& asked) {
  NodeTranches made{.resource = resource,
                    .mechanism = mechanism_by_labels(resource, node),
                    .advertised = std::max(count.capacity, count.allocatable)};
  if (const auto found = asked.find(resource); found != asked.end()) made.allocated = found->second;
  made.withheld = made.advertised - count.allocatable;
  return made;
}

}  // namespace

std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) {
  const auto most = std::numeric_limits<std::uint64_t>::max();
  return a > most - b ? most : a + b;
}

std::string closed_of(const NodeFacts* node) {
  if (node == nullptr) return "its Node is not known";
  if (node->cordoned) return "cordoned";
  if (node->ready && !*node->ready) return "not ready";
  if (!node->not_serving.empty()) return "its agent does not serve (" + node->not_serving + ")";
  return {};
}

std::vector<NodeTranches> count_tranches(const NodeFacts* node, const cluster::GpuNode* gpu_node,
                                         const Amounts& asked) {
  const bool open = closed_of(node).empty();
  std::vector<NodeTranches> all;
  std::set<std::string> told;
  if (gpu_node != nullptr && gpu_node->status) {
    for (const auto& resource : gpu_node->status->resources) {
      if (!told.insert(resource.name).second) continue;
      if (resource.sharing == "claims") {
        add_claimed(*gpu_node->status, resource, open, all);
      } else {
        all.push_back(settled(counted(*gpu_node->status, resource, node, asked), open));
      }
    }
  }
  if (node != nullptr) {
    for (const auto& [resource, count] : node->resources) {
      // Kubelet remembers resources for which it knows no device any more.
      if (count.capacity == 0 && count.allocatable == 0 && !asked.contains(resource)) continue;
      if (told.insert(resource).second) {
        all.push_back(settled(by_kubelet(resource, count, *node, asked), open));
      }
    }
  }
  for (const auto& [resource, amount] : asked) {
    if (!told.insert(resource).second) continue;
    all.push_back(
        {.resource = resource, .mechanism = mechanism_by_name(resource), .allocated = amount});
  }
  return all;
}

Mechanism mechanism_on(const NodeFacts& node, const cluster::GpuNode* gpu_node,
                       const std::string& resource) {
  if (gpu_node != nullptr && gpu_node->status) {
    const auto& all = gpu_node->status->resources;
    const auto found = std::ranges::find(all, resource, &GpuNodeResource::name);
    if (found != all.end()) return mechanism_of(*found);
  }
  return node.resources.contains(resource) ? mechanism_by_labels(resource, node)
                                           : mechanism_by_name(resource);
}

Mechanism mechanism_by_name(const std::string& resource) {
  if (resource.find("/mig-") != std::string::npos) return Mechanism::kMig;
  return resource.ends_with(".shared") ? Mechanism::kTimeSlicing : Mechanism::kExclusive;
}

}  // namespace tranche::fleet
