#include "mig/node_filter.h"

#include <algorithm>

#include "base/quantity.h"

namespace tranche::mig {
namespace {

// Kubernetes sets it on cordoned Nodes.
constexpr const char* kCordonTaint = "node.kubernetes.io/unschedulable";

bool tolerates(const cluster::SnapshotPod& pod, const cluster::Taint& taint) {
  return std::ranges::any_of(pod.tolerations, [&](const cluster::Toleration& toleration) {
    if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
    if (toleration.op == "Exists") return toleration.key.empty() || toleration.key == taint.key;
    return toleration.key == taint.key && toleration.value == taint.value;
  });
}

}  // namespace

NodeFilter::NodeFilter(const cluster::SnapshotPod& pod)
    : pod_(pod), required_(cluster::read_required_nodes(pod.affinity).value_or(std::nullopt)) {}

bool NodeFilter::takes(const cluster::Node& node) const {
  const bool tolerated = std::ranges::all_of(node.taints, [&](const cluster::Taint& taint) {
    const bool keeps_away = taint.effect != "PreferNoSchedule" && taint.key != kCordonTaint;
    return !keeps_away || tolerates(pod_, taint);
  });
  return tolerated && cluster::selects({pod_.pod.node_selector, {}}, node.labels) &&
         (!required_ || cluster::selects(*required_, node));
}

bool is_ready(const cluster::Node& node) {
  const auto ready = std::ranges::find(node.conditions, "Ready", &cluster::NodeCondition::type);
  return ready != node.conditions.end() && ready->status == "True";
}

std::int64_t allocatable(const cluster::Node& node, const std::string& resource) {
  return parse_quantity(cluster::value_of(node.allocatable, resource)).value_or(0);
}

}  // namespace tranche::mig
