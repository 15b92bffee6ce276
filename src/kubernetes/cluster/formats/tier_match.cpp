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

bool lists(const TierEligibility& eligibility, const TierPlace& place) {
  const auto& [selector, models] = eligibility;
  const auto is_model = [&](const std::string& one) {
    return plain_model(one) == plain_model(place.model);
  };
  if (!models.empty() && std::ranges::none_of(models, is_model)) return false;
  if (!selector) return true;
  return place.node_labels != nullptr && selects(*selector, *place.node_labels);
}

bool serves(const GpuTier& tier, const TierQuestion& question) {
  const auto& mechanism = question.mechanism;
  if (!mechanism.empty() && word_of(tier.mechanism) != mechanism) return false;
  if (resource_of(tier) != question.resource) return false;
  return !question.place || lists(tier.eligibility, *question.place);
}

bool admits(const GpuTier& tier, const TierQuestion& question) {
  const std::string ns(question.ns);
  const auto* const labels = question.namespace_labels;
  if (labels != nullptr) return allows(tier, ns, *labels);
  // A selector such as "has no label x" would select what is unknown.
  const auto& names = tier.namespaces.names;
  return std::ranges::find(names, ns) != names.end();
}

bool takes_class(const GpuTier& tier, const TierQuestion& question) {
  return tier.priority_class.empty() || !question.priority_class ||
         tier.priority_class == *question.priority_class;
}

}  // namespace

const GpuTier* tier_of(const TierMap& tiers, const TierQuestion& question) {
  std::vector<const GpuTier*> found;
  for (const auto& [name, tier] : tiers) {
    if (serves(tier, question)) found.push_back(&tier);
  }
  const auto keep = [&](auto fits) {
    const bool narrow = !question.place || (found.size() > 1 && !question.ns.empty());
    if (narrow) std::erase_if(found, [&](const GpuTier* tier) { return !fits(*tier, question); });
  };
  keep(admits);
  keep(takes_class);
  return found.size() == 1 ? found.front() : nullptr;
}

std::string_view plain_model(std::string_view product) {
  constexpr std::string_view kShared = "-SHARED";
  if (product.ends_with(kShared)) product.remove_suffix(kShared.size());
  return product.substr(0, product.find("-MIG-"));
}

}  // namespace tranche::cluster
