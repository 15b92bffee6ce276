#pragma once
// Which tier's service a container has, as its GPU, its resource and its namespace tell. Pure.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cluster/formats/gpu_tier.h"
#include "cluster/metadata.h"

namespace tranche::cluster {

// What a tranche is, or a container of it.
struct TierQuestion {
  const StringMap* node_labels = nullptr;  // null: unknown
  std::string model;  // of the GPU, as in the node label nvidia.com/gpu.product; empty: unknown
  std::string resource;
  std::string_view mechanism;  // "exclusive", "mig", "time-slicing", "mps", "share"
  // Empty: of no container.
  std::string ns = {};
  const StringMap* namespace_labels = nullptr;  // null: unknown
};

// The one tier whose GPUs, mechanism and resource these are. Of several the one that admits the
// namespace, so far as is known. nullptr: there is none, or more than one is left: no guess.
// Whether the namespace may use it is not asked: the container is there.
const GpuTier* tier_of(std::span<const GpuTier> tiers, const TierQuestion& question);

}  // namespace tranche::cluster
