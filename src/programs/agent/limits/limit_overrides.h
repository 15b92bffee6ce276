#pragma once
// Follows the limits that the operator sets for containers of this node
// (cluster/formats/limit_settings.h): reads the order from the Node, finds each setting's tenant in
// the book of holdings, and has the TenantManager apply it. The answer in the Node says which
// limits hold; an Event on the Pod reports a refused setting.
//
// Also follows the annotations by which a Pod's owner lowers limits for all its containers
// (tranche.dev/memory, tranche.dev/compute, tranche.dev/class). The operator's setting for a
// container takes precedence as long as it can be kept. What holds of them is in the answer too, as
// far as there is room.
//
// One thread calls look() at intervals.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/holdings/book.h"
#include "agent/limits/tenant_manager.h"
#include "agent/node/node_view.h"
#include "agent/node/node_writer.h"
#include "agent/node/pods_of_node.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/client/standing_events.h"
#include "cluster/formats/limit_settings.h"
#include "cluster/objects.h"

namespace tranche::agent {

inline constexpr const char* kMemoryAnnotation = "tranche.dev/memory";
inline constexpr const char* kComputeAnnotation = "tranche.dev/compute";
inline constexpr const char* kClassAnnotation = "tranche.dev/class";

class LimitOverrides {
 public:
  // How often Pods are read, and kubelet asked if something is set, while the order stays the same:
  // there may be new containers with other devices.
  static constexpr std::chrono::seconds kAskAgain{5};

  LimitOverrides(cluster::Objects& objects, const NodeView& node, PodsOfNode& pods, Book& book,
                 const Clock& clock, const Log& log);

  void look(HolderAnswers& holders, TenantManager& manager, const cluster::Call& call);

 private:
  using Settings = std::vector<cluster::LimitSetting>;
  using Outcomes = std::vector<cluster::LimitOutcome>;

  Settings read(const std::string& text);
  std::optional<Outcomes> obey(const Settings& settings, HolderAnswers& holders,
                               TenantManager& manager);
  cluster::StandingEvents::Events refusals();
  Outcomes answers() const;
  void answer(const cluster::Node& node, const cluster::Call& call);

  const NodeView& node_;
  PodsOfNode& pods_;
  Book& book_;
  const Clock& clock_;
  const Log& log_;
  NodeWriter writer_;
  std::optional<std::string> obeyed_;  // applied last
  std::chrono::steady_clock::time_point obeyed_at_{};
  Settings settings_;
  Outcomes outcomes_;
  Outcomes annotated_;     // what became of Pods' annotations
  std::string complaint_;  // about the order, logged last
  std::map<std::string, std::chrono::system_clock::time_point> refused_since_;
  cluster::StandingEvents events_;
};

}  // namespace tranche::agent
