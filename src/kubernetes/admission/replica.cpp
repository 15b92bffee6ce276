#include "admission/replica.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/printable.h"

namespace tranche::admission {
namespace {

constexpr std::string_view kIntoDra =
    "put a node into mode dra: kubectl label node NODE tranche.dev/mode=dra";
constexpr std::string_view kComeLater =
    "; or, where nodes come later, name their models in the chart's fractions.models";
constexpr std::string_view kShareThem =
    "kubectl get events --field-selector reason=FeatureGatesOff names the feature gates of "
    "Kubernetes to turn on (no such Event: set limits.enabled=true); or give GPUs out in replicas: "
    "kubectl label node NODE --overwrite tranche.dev/mode=device-plugin "
    "nvidia.com/device-plugin.config=NAME";

std::string asks_for(std::string_view container, const Share& share) {
  return fmt::format("container \"{}\" asks for {}", printable(container, 63), describe(share));
}

std::unexpected<Error> no_replica(std::string_view container, const Share& share,
                                  const Fleet& fleet) {
  const auto largest = std::ranges::max_element(fleet.replicas, {}, &Replica::permille);
  if (largest == fleet.replicas.end()) {
    return fail(
        Code::kFailedPrecondition,
        fmt::format("{}, and {}", asks_for(container, share),
                    fleet.whole_alone ? why_no_shares(fleet) : "no node gives parts of GPUs"),
        into_shares(fleet) + std::string(fleet.whole_alone ? "" : kComeLater));
  }
  return fail(Code::kFailedPrecondition,
              fmt::format("{}, {}, and the largest part of a GPU that nodes offer is {} ({})",
                          asks_for(container, share), why_no_shares(fleet),
                          permille_text(largest->permille), largest->resource),
              fmt::format("{}; or lower `replicas` of {} in the nodes' configuration",
                          into_shares(fleet), largest->resource));
}

std::vector<std::string> warnings_of(std::string_view container, const Share& share,
                                     const Replica& replica) {
  std::vector<std::string> warnings;
  if (replica.permille > share.percent * 10) {
    warnings.push_back(fmt::format("{} and gets more: one {}, which is {} of a GPU",
                                   asks_for(container, share), replica.resource,
                                   permille_text(replica.permille)));
  }
  if (!replica.enforced) {
    warnings.push_back(fmt::format("{}, and nothing holds containers with {} to their part",
                                   asks_for(container, share), replica.resource));
  }
  return warnings;
}

}  // namespace

std::string why_no_shares(const Fleet& fleet) {
  return fleet.whole_alone ? "nodes in mode dra give whole GPUs alone" : "no node is in mode dra";
}

std::string into_shares(const Fleet& fleet) {
  return std::string(fleet.whole_alone ? kShareThem : kIntoDra);
}

Result<ReplicaChoice> choose_replica(std::string_view container, const Share& share,
                                     const Fleet& fleet) {
  if (share.memory) {
    return fail(Code::kFailedPrecondition,
                fmt::format("{}, {}, and replicas are no bytes of memory",
                            asks_for(container, share), why_no_shares(fleet)),
                fmt::format("{}; or ask for a fraction", into_shares(fleet)));
  }
  const Replica* best = nullptr;
  const auto rank = [](const Replica& one) {
    return std::tuple(one.permille, !one.enforced, one.resource);
  };
  for (const auto& one : fleet.replicas) {
    if (one.permille < share.percent * 10) continue;
    if (best == nullptr || rank(one) < rank(*best)) best = &one;
  }
  if (best == nullptr) return no_replica(container, share, fleet);
  return ReplicaChoice{.resource = best->resource,
                       .warnings = warnings_of(container, share, *best)};
}

}  // namespace tranche::admission
