#pragma once
// The resources of one GPU that instances occupy, for the searches of place.h: memory slices,
// compute slices, instances of each profile, media engines. Borrows the geometry.

#include <array>
#include <cstdint>
#include <vector>

#include "gpu/mig_profile.h"
#include "mig/layout.h"

namespace tranche::mig {

class Occupancy {
 public:
  explicit Occupancy(const gpu::MigGeometry& geometry);

  const gpu::MigGeometry& geometry() const { return *geometry_; }
  std::uint64_t memory() const { return memory_; }  // bit n: memory slice n is taken
  int free_compute() const { return geometry_->compute_slices - compute_; }
  int free_memory() const;

  // `profile` must be one of the geometry's. has_room: not considering memory slices.
  bool has_room(const gpu::GpuInstanceProfile& profile) const;
  bool fits(const gpu::GpuInstanceProfile& profile, int start) const;
  void add(const gpu::GpuInstanceProfile& profile, int start) { change(profile, start, 1); }
  void remove(const gpu::GpuInstanceProfile& profile, int start) { change(profile, start, -1); }
  // Instances of profiles missing in the geometry only occupy their memory slices.
  void add(const GpuLayout& layout);

 private:
  using Engines = std::array<int, 4>;
  static Engines engines_of(const gpu::GpuInstanceProfile& profile);
  std::size_t index(const gpu::GpuInstanceProfile& profile) const {
    return static_cast<std::size_t>(&profile - geometry_->profiles.data());
  }
  void change(const gpu::GpuInstanceProfile& profile, int start, int by);

  const gpu::MigGeometry* geometry_;
  std::vector<Engines> needs_;  // by profile
  Engines most_{};              // of the GPU, according to its largest profile
  std::uint64_t memory_ = 0;
  int compute_ = 0;
  std::vector<int> instances_;  // by profile
  Engines engines_{};
};

// The profiles, largest first: by compute slices, then memory slices; among equals plain ones
// first, then in the geometry's order.
std::vector<const gpu::GpuInstanceProfile*> largest_first(const gpu::MigGeometry& geometry);
// The other way round; among equals plain ones first here too.
std::vector<const gpu::GpuInstanceProfile*> smallest_first(const gpu::MigGeometry& geometry);

// How many instances of the profile alone fit next to what is taken.
int number_beside(Occupancy taken, const gpu::GpuInstanceProfile& profile);

// The filling of the layout's free space that uses the most compute slices, and among those the
// most memory slices.
std::vector<Instance> best_filling(const GpuLayout& layout, const gpu::MigGeometry& geometry);

}  // namespace tranche::mig
