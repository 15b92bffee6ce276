#include "fleet/tier_of.h"

#include "cluster/formats/tier_match.h"

namespace tranche::fleet {
namespace {

cluster::TierPlace place_of(const NodeFacts& node) {
  return {.node_labels = &node.labels,
          .model = cluster::value_of(node.labels, "nvidia.com/gpu.product")};
}

std::string name_of(const cluster::GpuTier* tier) { return tier == nullptr ? "" : tier->name; }

template <class Map>
auto* find(const Map& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

std::string tier_of_node(const Facts& facts, const NodeFacts& node, const NodeTranches& kind) {
  return name_of(cluster::tier_of(facts.tiers, {.resource = kind.resource,
                                                .mechanism = usage::to_string(kind.mechanism),
                                                .place = place_of(node)}));
}

std::string tier_of_pod(const Facts& facts, const PodFacts& pod, const std::string& resource) {
  static const cluster::StringMap kNoLabels;
  if (facts.tiers.empty()) return {};
  const auto* const labels = find(facts.namespaces, pod.key.ns);
  cluster::TierQuestion question{.resource = resource,
                                 .ns = pod.key.ns,
                                 .namespace_labels = labels == nullptr ? &kNoLabels : labels,
                                 .priority_class = pod.priority_class};
  if (const auto* const node = find(facts.nodes, pod.node)) {
    question.place = place_of(*node);
    question.mechanism =
        usage::to_string(mechanism_on(*node, find(facts.gpu_nodes, pod.node), resource));
  }
  return name_of(cluster::tier_of(facts.tiers, question));
}

}  // namespace tranche::fleet
