#include "cluster/formats/tier_match.h"

#include <algorithm>
#include <type_traits>
#include <vector>

namespace tranche::cluster {
namespace {

std::string_view word_of(const TierMechanism& mechanism) {
  return std::visit(
      [](const auto& one) -> std::string_view {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, MigTier>) return "mig";
        if constexpr (std::is_same_v<T, TimeSlicingTier>) return "time-slicing";
        if constexpr (std::is_same_v<T, MpsTier>) return "mps";
        return "exclusive";
      },
      mechanism);
}

bool serves(const GpuTier& tier, const TierQuestion& question) {
  if (word_of(tier.mechanism) != question.mechanism) return false;
  if (resource_of(tier) != question.resource) return false;
  const auto& [selector, models] = tier.eligibility;
  if (!models.empty() && std::ranges::find(models, question.model) == models.end()) return false;
  if (!selector) return true;
  return question.node_labels != nullptr && selects(*selector, *question.node_labels);
}

bool admits(const GpuTier& tier, const TierQuestion& question) {
  const auto* const labels = question.namespace_labels;
  if (labels != nullptr) return allows(tier, question.ns, *labels);
  // A selector such as "has no label x" would select what is unknown.
  const auto& names = tier.namespaces.names;
  return std::ranges::find(names, question.ns) != names.end();
}

}  // namespace

const GpuTier* tier_of(std::span<const GpuTier> tiers, const TierQuestion& question) {
  std::vector<const GpuTier*> found;
  for (const auto& tier : tiers) {
    if (serves(tier, question)) found.push_back(&tier);
  }
  if (found.size() > 1 && !question.ns.empty()) {
    std::erase_if(found, [&](const GpuTier* tier) { return !admits(*tier, question); });
  }
  return found.size() == 1 ? found.front() : nullptr;
}

}  // namespace tranche::cluster
