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

// The GPU instances that a wish asks for, largest first, names matched as gpu::match_profile does;
// none where MIG is to be off. Of a number that no GPU can hold they are one more than it can hold.
// kInvalidArgument: a name that is none or that this GPU does not have (the hint names those that
// it has), or a negative number.
Result<std::vector<InstanceWish>> instances_of(const GpuWish& wish,
                                               const gpu::MigGeometry& geometry);

// The same for many GPUs: of a number above kMostInstances they are kMostInstances.
inline constexpr int kMostInstances = 10'000;
Result<std::vector<InstanceWish>> all_instances_of(const GpuWish& wish,
                                                   const gpu::MigGeometry& geometry);

// Whether the layout is one that the GPU can have; an error says what is wrong with it.
Result<void> check(const GpuLayout& layout, const gpu::MigGeometry& geometry);

// How much it is worth that an instance stays: its profile and place, and all of its compute
// instances, if with others beside them. Of two places with the same number of kept instances the
// one is taken where more of them stay as they are, or GPU instances with other compute instances;
// then the one that leaves more room for large profiles.
struct Keeping {
  std::vector<Instance> present;
  // As many as `present`; true: containers hold it, so it counts more than all that nobody holds.
  std::vector<bool> held;
};

// A layout that meets the wish, with as many instances of `keeping` in it as can be. nullopt: there
// is none.
std::optional<GpuLayout> place(const std::vector<InstanceWish>& wish,
                               const gpu::MigGeometry& geometry, const Keeping& keeping = {});

// Whether place() finds one; it is quicker.
bool can_place(const std::vector<InstanceWish>& wish, const gpu::MigGeometry& geometry);

// Why place() finds none, for people: "they take 8 compute slices of 7". "": it finds one.
std::string why_not(const std::vector<InstanceWish>& wish, const gpu::MigGeometry& geometry);

// What stays free however the GPU is filled beside a layout: by the filling that takes the most
// compute slices, and of those the one that takes the most memory slices.
struct Stranded {
  int compute_slices = 0;  // free, and no profile can have them
  int memory_slices = 0;
  bool operator==(const Stranded&) const = default;
};
// None where MIG is off.
Stranded stranded(const GpuLayout& layout, const gpu::MigGeometry& geometry);
// "1 compute slice and 2 memory slices"; "" for none.
std::string describe(const Stranded& stranded);

// The wishes that the GPU can meet and that are nearest to one that it cannot: those that lack the
// fewest compute slices of it; then those that make up for most of them with other profiles; then
// those that add no more than that; then those with the fewest instances. None is a part of a
// nearer one. At most `most`; none for a wish with a name that this GPU does not have.
std::vector<GpuWish> nearest(const GpuWish& wish, const gpu::MigGeometry& geometry,
                             std::size_t most = 3);

// Every combination of profiles that the GPU can hold and to which none can be added, largest
// profiles first.
std::vector<std::vector<InstanceWish>> full_layouts(const gpu::MigGeometry& geometry);

}  // namespace tranche::mig
