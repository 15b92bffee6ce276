#pragma once
// What a cluster's ClusterPolicy comes to: what the ConfigMap that the agents follow must hold, and
// what the policy's status says about it. Pure.
//
//     ClusterPolicy ──┐
//     the ConfigMap   │
//     that it names ──┼─> decide ─> content of the ConfigMap of ours, conditions of the policy
//     the operator's  │
//     own plugin ─────┘
//
// Order of a node's configuration under a policy: its label, the policy's default, else unshared
// (fallback `empty`): as the GPU operator has it. Where the policy asks for something that is not
// there, the agents keep what they have: a typing error must not unshare a cluster.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/cluster_policy.h"
#include "cluster/config_map.h"
#include "cluster/daemon_set.h"
#include "cluster/metadata.h"

namespace tranche::controller {

inline constexpr const char* kAppliedCondition = "TrancheApplied";
inline constexpr const char* kUnservedCondition = "TrancheUnservedFields";

struct Condition {
  std::string type;
  bool is_true = false;
  std::string reason;  // a word for machines
  std::string message;
  bool operator==(const Condition&) const = default;
};

// Of a ConfigMap. Annotations: those of cluster/policy_annotations.h alone.
struct MapContent {
  cluster::StringMap data;
  cluster::StringMap annotations;
  bool operator==(const MapContent&) const = default;
};
MapContent content_of(const cluster::ConfigMap& map);

// A DaemonSet by which a GPU operator runs its own device plugin.
struct OperatorPlugin {
  std::string daemon_set;  // "ns/name"
  std::string policy;      // whose it is
  bool operator==(const OperatorPlugin&) const = default;
};

// One ClusterPolicy of the cluster.
struct PolicyObject {
  std::string name;
  std::string created;  // metadata.creationTimestamp: whole seconds in UTC, so the text sorts
  Result<cluster::ClusterPolicy> policy;  // or why it cannot be read
};
// nullptr: there is none. The operator obeys the first that it meets and ignores the others; the
// oldest is that one, and stays it when the operator restarts.
const PolicyObject* oldest(std::span<const PolicyObject> policies);

// The first DaemonSet that runs for a policy which does not say devicePlugin.enabled: false. (Where
// it says so the operator is told to remove it: the hand-over is under way.) nullopt: there is
// none.
std::optional<OperatorPlugin> find_operator_plugin(std::span<const cluster::DaemonSet> daemon_sets,
                                                   std::span<const PolicyObject> policies);

struct PolicyFacts {
  std::string ns;        // where the policy's ConfigMaps are
  std::string out_name;  // the ConfigMap of ours
  std::string mps_root;  // where the agents' Pods have the folder of MPS on the host
  // The policy obeyed; nullopt: there is none. An error: it cannot be read.
  std::optional<Result<cluster::ClusterPolicy>> policy;
  // The ConfigMap that it names; nullopt: it names none, or there is none of that name.
  std::optional<cluster::ConfigMap> named;
  std::optional<OperatorPlugin> operator_plugin;
  MapContent now;  // of the ConfigMap of ours; empty where there is none
};

struct Decision {
  MapContent map;
  std::vector<Condition> conditions;  // for the policy obeyed; empty without one
};

Decision decide(const PolicyFacts& facts);

// For a policy that is not obeyed because `obeyed` is older.
Condition ignored(const std::string& obeyed);

// Which fields of a policy have no effect here.
Condition unserved(const std::vector<std::string>& fields);

}  // namespace tranche::controller
