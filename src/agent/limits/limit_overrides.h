#pragma once
// Follows what the operator set for containers of this node (cluster/limit_settings.h): reads the
// order in its Node, finds whose tenant each setting is about (the Pod's uid by the API server, its
// devices by kubelet's pod-resources), has the TenantManager keep it, and answers in the Node what
// holds, and an Event on the Pod where a setting is refused.
//
// And what whoever owns a Pod asks for by its annotations (tranche.dev/memory, tranche.dev/compute,
// tranche.dev/class), for all its containers: that may only lower, and gives way to what the
// operator set for the container, as long as that can be kept.
//
// look() is called at intervals, by one thread.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/limits/tenant_manager.h"
#include "agent/node/node_view.h"
#include "agent/node/node_writer.h"
#include "agent/node/pods_of_node.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/limit_settings.h"
#include "cluster/objects.h"
#include "cluster/pod_resources.h"
#include "cluster/standing_events.h"

namespace tranche::agent {

// Of a Pod, by whoever owns it.
inline constexpr const char* kMemoryAnnotation = "tranche.dev/memory";
inline constexpr const char* kComputeAnnotation = "tranche.dev/compute";
inline constexpr const char* kClassAnnotation = "tranche.dev/class";

class LimitOverrides {
 public:
  // How often Pods are looked at, and kubelet is asked where something is set, while the order
  // stays the same: containers come, and with other devices.
  static constexpr std::chrono::seconds kAskAgain{5};

  // The references outlive it.
  LimitOverrides(cluster::Objects& objects, const NodeView& node, PodsOfNode& pods,
                 const Clock& clock, const Log& log);

  void look(cluster::PodResources& pod_resources, TenantManager& manager,
            const cluster::Call& call);

 private:
  using Settings = std::vector<cluster::LimitSetting>;
  using Outcomes = std::vector<cluster::LimitOutcome>;

  Settings read(const std::string& text);
  std::optional<Outcomes> obey(const Settings& settings, cluster::PodResources& pod_resources,
                               TenantManager& manager);
  cluster::StandingEvents::Events refusals();
  void answer(const Outcomes& outcomes, const cluster::Node& node, const cluster::Call& call);

  const NodeView& node_;
  PodsOfNode& pods_;
  const Clock& clock_;
  const Log& log_;
  NodeWriter writer_;
  std::optional<std::string> obeyed_;  // the order
  std::chrono::steady_clock::time_point obeyed_at_{};
  Settings settings_;
  Outcomes outcomes_;
  Outcomes refused_annotations_;
  std::string complaint_;  // about the order, logged last
  std::map<std::string, std::chrono::system_clock::time_point> refused_since_;
  cluster::StandingEvents events_;
};

}  // namespace tranche::agent
