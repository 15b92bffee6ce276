#pragma once
// Small clusters for tests of this room.

#include <string>
#include <utility>
#include <vector>

#include "fleet/facts.h"
#include "fleet/read_facts.h"

namespace tranche::fleet::testing_facts {

inline NodeFacts node(const std::string& name, const std::map<std::string, NodeCount>& resources) {
  return {.name = name,
          .labels = {{"nvidia.com/gpu.product", "NVIDIA-L20"}},
          .ready = true,
          .resources = resources};
}

inline void add(Facts& facts, NodeFacts one) { facts.nodes[one.name] = std::move(one); }

// A Pod of namespace "team" that asks for one of the resource.
inline PodFacts pod(const std::string& name, const std::string& resource,
                    const std::string& on = {}) {
  return {.key = {"team", name},
          .node = on,
          .phase = on.empty() ? "Pending" : "Running",
          .wants = {{resource, 1}}};
}

inline PodFacts unscheduled(const std::string& name, const std::string& resource,
                            const std::string& message) {
  auto made = pod(name, resource);
  made.unscheduled_reason = "Unschedulable";
  made.unscheduled_message = message;
  return made;
}

inline void add(Facts& facts, PodFacts one) { facts.pods[one.key] = std::move(one); }

// A node whose one GPU is cut into `tranches`, of which `held` are held, and `withheld` withheld.
inline cluster::GpuNode gpu_node(const std::string& name, const std::string& resource,
                                 std::int64_t tranches, std::int64_t held = 0,
                                 std::int64_t withheld = 0) {
  const auto uuid = "GPU-" + name;
  cluster::GpuNodeStatus status;
  status.gpus = {{.index = 0, .uuid = uuid, .model = "NVIDIA L20"}};
  status.resources = {{.name = resource,
                       .sharing = tranches > 1 ? "time-slicing" : "none",
                       .tranches = tranches,
                       .healthy = tranches - withheld,
                       .withheld = withheld,
                       .devices = {{.uuid = uuid, .tranches = tranches, .withheld = withheld}}}};
  for (std::int64_t i = 0; i < held; ++i) {
    status.holdings.push_back({.device = uuid,
                               .gpu = uuid,
                               .wire = "device-plugin",
                               .resource = resource,
                               .id = uuid + "::" + std::to_string(i),
                               .ns = "team",
                               .pod = "p" + std::to_string(i),
                               .container = "c",
                               .use = "time-sliced",
                               .state = "in-use"});
  }
  return {.name = name, .status = status};
}

}  // namespace tranche::fleet::testing_facts
