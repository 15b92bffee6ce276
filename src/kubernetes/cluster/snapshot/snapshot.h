#pragma once
// What reading commands need to know about a cluster, as one value: taken from an API server
// (take.h), or read from a file (encoding.h), so that each of them answers from a file (`--snapshot
// FILE`) just as from the cluster (snapshot_objects.h).
//
// Unknown never looks like nothing: whatever could not be read is listed in `gaps` with the reason.
// Check gap_of() before trusting an empty list. The GPUs of a node are what its agent has published
// (`gpu_nodes`); a node without such an object has GPUs that nobody knows.
//
// Objects are kept in Kubernetes' own form, with only the fields that this system reads: no
// environment, no commands, no images, no secrets, no managed fields, and no annotations but ours.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/cluster_policy.h"
#include "cluster/config_map.h"
#include "cluster/formats/gpu_node.h"
#include "cluster/formats/gpu_tier.h"
#include "cluster/kinds.h"
#include "cluster/label_selector.h"
#include "cluster/node.h"
#include "cluster/object.h"
#include "cluster/pod.h"
#include "cluster/resource_claim.h"
#include "cluster/resource_slice.h"
#include "cluster/time.h"

namespace tranche::cluster {

inline constexpr Kind kNamespace{"", "v1", "namespaces", "Namespace", false};
inline constexpr Kind kPodDisruptionBudget{"policy", "v1", "poddisruptionbudgets",
                                           "PodDisruptionBudget", true};

// What the node's agent reports about its configuration in the condition TrancheConfigured.
struct NodeConfiguration {
  // The origin of the current configuration: ConfigMap, key and why that key. nullopt: not
  // reported, because the latest request was refused and the previous configuration stays in
  // effect.
  std::optional<std::string> origin;
  NodeCondition condition;
  bool operator==(const NodeConfiguration&) const = default;
};

struct SnapshotNode {
  Node node;
  std::optional<NodeConfiguration> configuration;  // nullopt: no agent has reported
  bool operator==(const SnapshotNode&) const = default;
};

struct Toleration {
  std::string key;
  std::string op;  // "Equal" (or empty), "Exists"
  std::string value;
  std::string effect;  // empty: all
  bool operator==(const Toleration&) const = default;
};

struct SnapshotPod {
  Pod pod;
  std::string created;  // RFC 3339, as written
  std::int64_t priority = 0;
  std::vector<Toleration> tolerations;
  std::string affinity;  // spec.affinity as compact JSON with sorted keys; empty: none
  bool operator==(const SnapshotPod&) const = default;
};

struct SnapshotNamespace {
  std::string name;
  StringMap labels;
  bool operator==(const SnapshotNamespace&) const = default;
};

struct ResourceQuota {
  ObjectKey key;
  // Resource as quotas spell it ("requests.nvidia.com/gpu") -> quantity as written.
  StringMap hard;
  StringMap used;
  // Which Pods it counts; both empty: all in the namespace.
  std::vector<std::string> scopes;
  std::vector<SelectorExpression> scope_expressions;  // spec.scopeSelector; key: the scope
  bool operator==(const ResourceQuota&) const = default;
};

struct DisruptionBudget {
  ObjectKey key;
  std::optional<LabelSelector> selector;  // nullopt: no Pod
  std::int64_t disruptions_allowed = 0;
  bool operator==(const DisruptionBudget&) const = default;
};

struct SnapshotClaim {
  ResourceClaim claim;  // opaque parameters in canonical form, and only those for GPUs
  std::string created;  // RFC 3339, as written
  // Of spec.devices, what the scheduler reads, as compact JSON with sorted keys; empty: none.
  std::string requests;
  std::string constraints;
  bool operator==(const SnapshotClaim&) const = default;
};

// A DeviceClass (resource.k8s.io/v1). Its configuration is in the claims that it was allocated to.
struct DeviceClass {
  std::string name;
  std::string extended_resource;  // spec.extendedResourceName; empty: none
  std::string selectors;          // spec.selectors as compact JSON with sorted keys; empty: none
  bool operator==(const DeviceClass&) const = default;
};

// Something that could not be read.
struct Gap {
  std::string resource;  // as kubectl names it: "pods", "clusterpolicies.nvidia.com"
  std::string name;      // the object ("ns/name"); empty: all of the kind
  // kNotFound with an empty name: the cluster does not serve the kind, so there are none.
  // kUnsupported with an empty name: the file is of a release that did not keep the kind.
  Code code = Code::kInternal;
  std::string message;
  bool operator==(const Gap&) const = default;
};

struct Snapshot {
  WallTime taken_at;     // whole microseconds
  std::string server;    // the API server's address, or the name of a context
  std::string taken_by;  // "tranche 0.1.0"
  std::vector<SnapshotNode> nodes;
  std::vector<SnapshotPod> pods;  // those that request GPUs, or run on a node that has some
  std::vector<ConfigMap> config_maps;
  std::vector<ClusterPolicy> cluster_policies;
  std::vector<GpuTier> tiers;
  std::vector<SnapshotNamespace> namespaces;
  std::vector<ResourceQuota> quotas;  // those that count GPUs
  std::vector<DisruptionBudget> budgets;
  std::vector<ResourceSlice> slices;  // of all drivers
  std::vector<SnapshotClaim> claims;
  std::vector<DeviceClass> device_classes;
  std::vector<GpuNode> gpu_nodes;  // what agents know of their GPUs, and who holds them
  std::vector<Gap> gaps;

  bool operator==(const Snapshot&) const = default;
};

// The gap that concerns all objects of the kind; nullptr if they could be read: only then is an
// empty list really empty.
const Gap* gap_of(const Snapshot& snapshot, const Kind& kind);

// The canonical order of the snapshot's parts; take() and decode() return it.
Snapshot sorted(Snapshot snapshot);

}  // namespace tranche::cluster
