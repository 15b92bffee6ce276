#pragma once
// Decides what a ClusterPolicy means: the content of the agents' ConfigMap, and the conditions in
// the policy's status. Pure.
//
//     ClusterPolicy ──┐
//     the ConfigMap   │
//     that it names ──┼─> decide ─> content of our ConfigMap, conditions of the policy
//     the operator's  │
//     own plugin ─────┘
//
// A node's configuration is chosen by its label, else by the policy's default, else the node is
// unshared (fallback `empty`), as in the GPU operator. If the policy names something that does not
// exist, the agents keep what they have.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/cluster_policy.h"
#include "cluster/config_map.h"
#include "cluster/daemon_set.h"
#include "cluster/formats/reasons.h"
#include "cluster/metadata.h"
#include "controller/serving_nodes.h"

namespace tranche::controller {

inline constexpr const char* kAppliedCondition = cluster::condition::kTrancheApplied;
inline constexpr const char* kUnservedCondition = cluster::condition::kTrancheUnservedFields;

struct Condition {
  std::string type;
  bool is_true = false;
  std::string reason;  // of cluster/formats/reasons.h
  std::string message;
  bool operator==(const Condition&) const = default;
};

// The content of a ConfigMap. Only the annotations of cluster/formats/policy_annotations.h.
struct MapContent {
  cluster::StringMap data;
  cluster::StringMap annotations;
  bool operator==(const MapContent&) const = default;
};
MapContent content_of(const cluster::ConfigMap& map);

// The DaemonSet of a GPU operator's own device plugin.
struct OperatorPlugin {
  std::string daemon_set;  // "ns/name"
  std::string policy;      // the name of the ClusterPolicy that owns it
  bool operator==(const OperatorPlugin&) const = default;
};

// One ClusterPolicy of the cluster.
struct PolicyObject {
  std::string name;
  std::string created;  // metadata.creationTimestamp: whole seconds in UTC, so the text sorts
  Result<cluster::ClusterPolicy> policy;  // an error: why it cannot be read
};
// The policy that is obeyed; null: there is none. It is the oldest: the operator obeys the first
// policy that it meets, also after a restart, and ignores the others.
const PolicyObject* oldest(std::span<const PolicyObject> policies);

// The first DaemonSet that belongs to a policy without devicePlugin.enabled: false; nullopt: there
// is none. (With it, the operator is removing the DaemonSet: the hand-over has begun.)
std::optional<OperatorPlugin> find_operator_plugin(std::span<const cluster::DaemonSet> daemon_sets,
                                                   std::span<const PolicyObject> policies);

struct PolicyFacts {
  std::string ns;        // the namespace of the ConfigMaps that policies name
  std::string out_name;  // the name of our ConfigMap
  std::string mps_root;  // the folder of MPS on the host that the agents' Pods mount
  // The policy that is obeyed; nullopt: there is none. An error: it cannot be read.
  std::optional<Result<cluster::ClusterPolicy>> policy;
  // The ConfigMap that the policy names; nullopt: it names none, or it does not exist.
  std::optional<cluster::ConfigMap> named;
  std::optional<OperatorPlugin> operator_plugin;
  // The agents' DaemonSet, looked at for its ready Pods; "": its name is not set.
  std::string agents_name;
  std::optional<cluster::DaemonSet> agents;  // nullopt: it does not exist
  NodeReasons not_serving;  // nodes with a ready Pod of it that report not to serve
  MapContent now;           // content of our ConfigMap; empty: there is none
};

struct Decision {
  MapContent map;
  std::vector<Condition> conditions;  // for the policy that is obeyed; empty without one
};

Decision decide(const PolicyFacts& facts);

// The condition of a policy that is ignored because `obeyed` is older.
Condition ignored(const std::string& obeyed);

// The condition that lists which fields of a policy have no effect here.
Condition unserved(const std::vector<std::string>& fields);

}  // namespace tranche::controller
