#include "fleet/tier_of.h"

#include <algorithm>

namespace tranche::fleet {
namespace {

using cluster::GpuTier;

bool is_eligible(const GpuTier& tier, const NodeFacts& node) {
  const auto& [selector, models] = tier.eligibility;
  if (selector && !cluster::selects(*selector, node.labels)) return false;
  const auto& product = cluster::value_of(node.labels, "nvidia.com/gpu.product");
  return models.empty() || std::ranges::find(models, product) != models.end();
}

bool is_user(const Facts& facts, const GpuTier& tier, const PodFacts& pod) {
  static const cluster::StringMap kNone;
  const auto found = facts.namespaces.find(pod.key.ns);
  const auto& labels = found == facts.namespaces.end() ? kNone : found->second;
  if (!cluster::allows(tier, pod.key.ns, labels)) return false;
  return tier.priority_class.empty() || tier.priority_class == pod.priority_class;
}

template <class Fits>
std::string only_one(const Facts& facts, const std::string& resource, const Fits& fits) {
  std::string found;
  for (const auto& [name, tier] : facts.tiers) {
    if (cluster::resource_of(tier) != resource || !fits(tier)) continue;
    if (!found.empty()) return {};
    found = name;
  }
  return found;
}

}  // namespace

std::string tier_of_node(const Facts& facts, const NodeFacts& node, const std::string& resource) {
  return only_one(facts, resource, [&](const GpuTier& tier) { return is_eligible(tier, node); });
}

std::string tier_of_pod(const Facts& facts, const PodFacts& pod, const std::string& resource) {
  const auto node = facts.nodes.find(pod.node);
  return only_one(facts, resource, [&](const GpuTier& tier) {
    return is_user(facts, tier, pod) &&
           (node == facts.nodes.end() || is_eligible(tier, node->second));
  });
}

}  // namespace tranche::fleet
