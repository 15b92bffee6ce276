#include "fleet/node_view.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "fleet/node_count.h"

namespace tranche::fleet {
namespace {

using cluster::GpuNodeHolding;
using cluster::GpuNodeStatus;
using usage::ContainerFigures;
using usage::Mechanism;

// As the agent words it (agent/metrics/tranche_parts.cpp).
Mechanism mechanism_of(const GpuNodeHolding& holding) {
  if (holding.wire == "none") return Mechanism::kNone;
  if (holding.use == "mps") return Mechanism::kMps;
  if (holding.use == "whole") {
    return is_instance(holding.device) ? Mechanism::kMig : Mechanism::kExclusive;
  }
  const bool replica = holding.use == "time-sliced" && holding.wire != "claim";
  return replica ? Mechanism::kTimeSlicing : Mechanism::kShare;
}

usage::GpuUsage gpu_of(const cluster::GpuNodeGpu& gpu) {
  usage::GpuUsage made{.index = static_cast<std::uint32_t>(std::max<std::int64_t>(gpu.index, 0)),
                       .uuid = gpu.uuid,
                       .model = gpu.model,
                       .mig = gpu.mig == "enabled"};
  if (gpu.memory) made.memory_total = gpu.memory->value;
  if (!gpu.instances) return made;
  for (const auto& instance : *gpu.instances) {
    auto& one = made.instances.emplace_back();
    one.uuid = instance.uuid;
    one.profile = instance.profile;
    if (instance.memory) one.memory = instance.memory->value;
  }
  return made;
}

std::string profile_of(const GpuNodeStatus& status, const std::string& device) {
  for (const auto& gpu : status.gpus) {
    if (!gpu.instances) continue;
    for (const auto& instance : *gpu.instances) {
      if (instance.uuid == device) return instance.profile;
    }
  }
  return {};
}

// Tranches of one container on one device are one entry.
void add(const GpuNodeHolding& holding, const GpuNodeStatus& status, ContainerFigures& made) {
  const bool first = made.device.empty();
  if (first) {
    made.ns = holding.ns;
    made.pod = holding.pod;
    made.container = holding.container;
    made.resource = holding.resource;
    made.mechanism = mechanism_of(holding);
    made.gpu = holding.gpu;
    made.device = holding.device;
    made.mig_profile = profile_of(status, holding.device);
    made.gpus = 0;
  }
  if (made.mechanism == Mechanism::kNone) return;
  double part = 1;
  if (holding.part) {
    if (holding.part->memory) {
      made.memory_limit = made.memory_limit.value_or(0) + holding.part->memory->value;
    }
    if (holding.part->permille) part = static_cast<double>(*holding.part->permille) / 1000;
    if (holding.part->permille) made.compute_promised = made.compute_promised.value_or(0) + part;
  }
  for (const auto& resource : status.resources) {
    if (resource.name != holding.resource) continue;
    const auto found =
        std::ranges::find(resource.devices, holding.device, &cluster::GpuNodeDevice::uuid);
    if (found != resource.devices.end() && found->tranches > 1) {
      part = 1.0 / static_cast<double>(found->tranches);
    }
  }
  made.gpus += part;
}

}  // namespace

usage::NodeUsage view_of(const cluster::GpuNode& node) {
  usage::NodeUsage view{.node = node.name};
  if (!node.status) return view;
  const auto& status = *node.status;
  view.agent = status.agent;
  view.driver_version = status.driver;
  for (const auto& gpu : status.gpus) view.gpus.push_back(gpu_of(gpu));
  // By namespace, Pod, container, device, resource.
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>,
           ContainerFigures>
      containers;
  for (const auto& holding : status.holdings) {
    if (holding.pod.empty()) continue;
    add(holding, status,
        containers[{holding.ns, holding.pod, holding.container, holding.device, holding.resource}]);
  }
  for (auto& [key, one] : containers) view.containers.push_back(std::move(one));
  return view;
}

}  // namespace tranche::fleet
