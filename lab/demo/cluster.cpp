#include "lab/demo/cluster.h"

#include <fmt/format.h>

#include <numeric>

#include "lab/demo/scheduler.h"

namespace tranche::demo {

Cluster::Outcome Cluster::run(const std::string& pod, int gpus) {
  std::vector<NodeRoom> rooms;
  for (const auto& node : nodes_) {
    const auto status = node->gpus();
    rooms.push_back({.allocatable = status.allocatable, .held = status.allocated});
  }
  const auto decision = first_fit(rooms, kGpu, gpus);
  if (!decision.node) return {.phase = "Pending", .message = decision.message};
  Node& node = *nodes_[*decision.node];
  const auto status = node.kubelet().admit(
      {.name = pod, .containers = {{.name = "main", .limits = {{kGpu, gpus}}}}});
  Outcome outcome{.phase = status.phase,
                  .reason = status.reason,
                  .message = status.message,
                  .node = &node,
                  .holding = {}};
  if (status.phase == "Running") {
    outcome.holding = status.containers.at("main").at(kGpu);
    places_[pod] = &node;
  }
  return outcome;
}

Result<void> Cluster::remove(const std::string& pod) {
  const auto found = places_.find(pod);
  if (found == places_.end()) return fail(Code::kNotFound, fmt::format("no running Pod {}", pod));
  TRY(found->second->kubelet().remove("default/" + pod));
  places_.erase(found);
  return {};
}

int Cluster::schedulable() const {
  return std::accumulate(nodes_.begin(), nodes_.end(), 0,
                         [](int sum, const auto& node) { return sum + node->gpus().allocatable; });
}

int Cluster::held() const {
  return std::accumulate(nodes_.begin(), nodes_.end(), 0,
                         [](int sum, const auto& node) { return sum + node->gpus().allocated; });
}

}  // namespace tranche::demo
