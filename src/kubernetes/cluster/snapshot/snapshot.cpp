#include "cluster/snapshot/snapshot.h"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace tranche::cluster {

const Gap* gap_of(const Snapshot& snapshot, const Kind& kind) {
  const auto found = std::ranges::find_if(snapshot.gaps, [&](const Gap& gap) {
    return gap.resource == kind.resource() && gap.name.empty();
  });
  return found == snapshot.gaps.end() ? nullptr : &*found;
}

Snapshot sorted(Snapshot snapshot) {
  snapshot.taken_at = std::chrono::floor<std::chrono::microseconds>(snapshot.taken_at);
  for (auto& node : snapshot.nodes) {
    std::ranges::sort(node.node.taints, {}, [](const Taint& taint) {
      return std::tie(taint.key, taint.effect, taint.value);
    });
    std::ranges::sort(node.node.conditions, {}, [](const NodeCondition& condition) {
      return std::tie(condition.type, condition.status, condition.reason, condition.message);
    });
  }
  std::ranges::sort(snapshot.nodes, {}, [](const SnapshotNode& node) { return node.node.name; });
  std::ranges::sort(snapshot.pods, {}, [](const SnapshotPod& pod) {
    return std::tie(pod.pod.ns, pod.pod.name, pod.pod.uid);
  });
  std::ranges::sort(snapshot.config_maps, {}, &ConfigMap::key);
  std::ranges::sort(snapshot.cluster_policies, {}, &ClusterPolicy::name);
  std::ranges::sort(snapshot.tiers, {}, &GpuTier::name);
  std::ranges::sort(snapshot.namespaces, {}, &SnapshotNamespace::name);
  std::ranges::sort(snapshot.quotas, {}, &ResourceQuota::key);
  std::ranges::sort(snapshot.budgets, {}, &DisruptionBudget::key);
  std::ranges::sort(snapshot.slices, {}, &ResourceSlice::name);
  std::ranges::sort(snapshot.claims, {},
                    [](const SnapshotClaim& value) { return value.claim.key; });
  std::ranges::sort(snapshot.device_classes, {}, &DeviceClass::name);
  std::ranges::sort(snapshot.gpu_nodes, {}, &GpuNode::name);
  std::ranges::sort(snapshot.gaps, {}, [](const Gap& gap) {
    return std::tie(gap.resource, gap.name, gap.code, gap.message);
  });
  return snapshot;
}

}  // namespace tranche::cluster
