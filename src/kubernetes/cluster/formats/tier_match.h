#pragma once
// Which tier serves tranches, or a Pod, as the node, the mechanism, the resource and the namespace
// tell. One answer for metrics of containers, capacity and Pods that wait. Pure.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/formats/gpu_tier.h"
#include "cluster/metadata.h"

namespace tranche::cluster {

using TierMap = std::map<std::string, GpuTier>;  // by name

// Where tranches are.
struct TierPlace {
  const StringMap* node_labels = nullptr;  // null: unknown, and no selector selects it
  // Of the GPU, as in the node label nvidia.com/gpu.product, with its suffixes or without; empty:
  // unknown.
  std::string_view model{};
};

struct TierQuestion {
  std::string_view resource;
  // "exclusive", "mig", "time-slicing", "mps", "share"; empty: unknown.
  std::string_view mechanism{};
  std::optional<TierPlace> place{};  // nullopt: of a Pod that has no node yet
  // Of a Pod; empty: tranches that nobody has.
  std::string_view ns{};
  const StringMap* namespace_labels = nullptr;       // null: unknown
  std::optional<std::string_view> priority_class{};  // nullopt: unknown
};

// The one tier that it is. nullptr: there is none, or more than one is left: no guess.
// With a place: the tier whose GPUs, mechanism and resource these are; of several the one that
// admits the namespace, then the one of the priority class, so far as they are known. Whether a Pod
// may use the only one is not asked: it is there. Without a place: the tier of the resource that
// admits both.
const GpuTier* tier_of(const TierMap& tiers, const TierQuestion& question);

// "Tesla-T4" of "Tesla-T4-SHARED", "NVIDIA-A30" of "NVIDIA-A30-MIG-1g.6gb".
std::string_view plain_model(std::string_view product);

}  // namespace tranche::cluster
