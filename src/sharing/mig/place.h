#pragma once
// Finds placements for the wish of one GPU. Pure. The search is exhaustive, because a GPU has at
// most 12 memory slices and 8 instances.
//
// A GPU can hold: memory slices that do not overlap, at most all compute slices, at most each
// profile's maximum number, and of each kind of engine (decoders, encoders, JPEG, OFA) as many as
// the largest profile has, if the geometry reports it.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "mig/layout.h"

namespace tranche::mig {

// A wished GPU instance, without a placement.
struct InstanceWish {
  int profile_id = 0;
  std::vector<int> compute;  // descending
  auto operator<=>(const InstanceWish&) const = default;
};

// The GPU instances that a wish asks for, largest first, with names matched by gpu::match_profile;
// none if MIG should be off. If a number exceeds what any GPU can hold, it becomes one more than it
// can hold. kInvalidArgument: a name that is invalid or that this GPU does not have (the hint lists
// those that it has), or a negative number.
Result<std::vector<InstanceWish>> instances_of(const GpuWish& wish,
                                               const gpu::MigGeometry& geometry);

// The same for many GPUs: numbers above kMostInstances become kMostInstances.
inline constexpr int kMostInstances = 10'000;
Result<std::vector<InstanceWish>> all_instances_of(const GpuWish& wish,
                                                   const gpu::MigGeometry& geometry);

// Whether the GPU can have the layout; an error says what is wrong with it.
Result<void> check(const GpuLayout& layout, const gpu::MigGeometry& geometry);

// How much it is worth to keep an instance: its profile and placement, and all of its compute
// instances, possibly with others next to them. Among placements with the same number of kept
// instances the one wins where more of them stay unchanged, or keep the GPU instance with other
// compute instances; then the one that leaves more room for large profiles.
struct Keeping {
  std::vector<Instance> present;
  // Same size as `present`; true: containers hold it, so it outweighs all unheld ones.
  std::vector<bool> held;
};

// A layout that meets the wish and keeps as many instances of `keeping` as possible. nullopt: there
// is none.
std::optional<GpuLayout> place(const std::vector<InstanceWish>& wish,
                               const gpu::MigGeometry& geometry, const Keeping& keeping = {});

// Whether place() finds one; faster.
bool can_place(const std::vector<InstanceWish>& wish, const gpu::MigGeometry& geometry);

// Why place() finds none, for people: "they take 8 compute slices of 7". "": it finds one.
std::string why_not(const std::vector<InstanceWish>& wish, const gpu::MigGeometry& geometry);

// What stays unused however the GPU is filled next to a layout: by the filling that uses the most
// compute slices, and among those the most memory slices.
struct Stranded {
  int compute_slices = 0;  // free, but usable by no profile
  int memory_slices = 0;
  bool operator==(const Stranded&) const = default;
};
// None if MIG is off.
Stranded stranded(const GpuLayout& layout, const gpu::MigGeometry& geometry);
// "1 compute slice and 2 memory slices"; "" for none.
std::string describe(const Stranded& stranded);

// The feasible wishes nearest to an infeasible one: those that lack the fewest of its compute
// slices; then those that make up for most of them with other profiles; then those that add no more
// than that; then those with the fewest instances. None is a part of a nearer one. At most `most`;
// none for a wish with a name that this GPU does not have.
std::vector<GpuWish> nearest(const GpuWish& wish, const gpu::MigGeometry& geometry,
                             std::size_t most = 3);

// Every maximal combination of profiles that the GPU can hold, largest profiles
// first.
std::vector<std::vector<InstanceWish>> full_layouts(const gpu::MigGeometry& geometry);

}  // namespace tranche::mig
