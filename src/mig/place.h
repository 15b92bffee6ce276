#pragma once
// Finds places for what is wished of one GPU. Pure; the search is exhaustive, for a GPU has at most
// 12 memory slices and 8 instances.
//
// What a GPU can hold: memory slices that do not overlap, compute slices up to the whole, of each
// profile its most, and of each kind of engine (decoders, encoders, jpeg, OFA) what the largest
// profile has, where the geometry tells it.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "mig/layout.h"

namespace tranche::mig {

// A GPU instance that is wished for, without a place.
struct InstanceWish {
  int profile_id = 0;
  std::vector<int> compute;  // descending
  auto operator<=>(const InstanceWish&) const = default;
};

// The GPU instances that a wish asks for, largest first, names matched as gpu::match_profile does.
// kInvalidArgument: a name that is none or that this GPU does not have; the hint names those that
// it has.
Result<std::vector<InstanceWish>> instances_of(const GpuWish& wish,
                                               const gpu::MigGeometry& geometry);

// Whether the layout is one that the GPU can have; an error says what is wrong with it.
Result<void> check(const GpuLayout& layout, const gpu::MigGeometry& geometry);

// How much it is worth that an instance stays as it is. Of two places with the same number of kept
// instances the one is taken that leaves more room for large profiles.
struct Keeping {
  std::vector<Instance> present;
  // As many as `present`; true: containers hold it, so it counts more than all that nobody holds.
  std::vector<bool> held;
};

// A layout that meets the wish, with as many instances of `keeping` in it as can be. nullopt: there
// is none.
std::optional<GpuLayout> place(const std::vector<InstanceWish>& wish,
                               const gpu::MigGeometry& geometry, const Keeping& keeping = {});

// What is left when a layout is full.
struct Stranded {
  int compute_slices = 0;  // free, and no profile can have them
  int memory_slices = 0;
  bool operator==(const Stranded&) const = default;
};
// The slices that no further instance can use.
Stranded stranded(const GpuLayout& layout, const gpu::MigGeometry& geometry);

// Instances of each profile that fit beside the layout, each alone: profile id -> number.
std::map<int, int> room_beside(const GpuLayout& layout, const gpu::MigGeometry& geometry);

// The wishes that the GPU can meet and that are nearest to one that it cannot: those that lack the
// fewest compute slices of it, then those that add the fewest. At most `most`.
std::vector<GpuWish> nearest(const GpuWish& wish, const gpu::MigGeometry& geometry,
                             std::size_t most = 3);

// Every combination of profiles that the GPU can hold and to which none can be added, largest
// profiles first.
std::vector<std::vector<InstanceWish>> full_layouts(const gpu::MigGeometry& geometry);

}  // namespace tranche::mig
