#include "mig/occupancy.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>

namespace tranche::mig {
namespace {

std::uint64_t slices(int start, int size) {
  return ((std::uint64_t{1} << static_cast<unsigned>(size)) - 1) << static_cast<unsigned>(start);
}

// Tries every filling, from the first memory slice on.
class Filling {
 public:
  explicit Filling(Occupancy occupancy)
      : occupancy_(std::move(occupancy)), profiles_(largest_first(occupancy_.geometry())) {
    from(0);
  }
  std::vector<Instance> best() && { return std::move(best_); }

 private:
  bool is_perfect() const { return left_ == std::pair(0, 0); }

  void from(int start) {
    if (is_perfect()) return;
    if (start >= occupancy_.geometry().memory_slices) {
      const std::pair left(occupancy_.free_compute(), occupancy_.free_memory());
      if (left < left_) std::tie(left_, best_) = std::pair(left, taken_);
      return;
    }
    for (const auto* profile : profiles_) {
      if (!std::ranges::binary_search(profile->starts, start)) continue;
      if (occupancy_.fits(*profile, start)) with(*profile, start);
    }
    from(start + 1);
  }

  void with(const gpu::GpuInstanceProfile& profile, int start) {
    occupancy_.add(profile, start);
    taken_.push_back({.profile_id = profile.id,
                      .placement = {.start = start, .size = profile.memory_slices},
                      .compute = {profile.compute_slices}});
    from(start + profile.memory_slices);
    taken_.pop_back();
    occupancy_.remove(profile, start);
  }

  Occupancy occupancy_;
  std::vector<const gpu::GpuInstanceProfile*> profiles_;
  std::vector<Instance> taken_;
  std::vector<Instance> best_;
  std::pair<int, int> left_{1 << 20, 0};  // compute and memory slices that the best leaves free
};

// By size, ascending (`sign` 1) or descending (-1).
std::vector<const gpu::GpuInstanceProfile*> sorted(const gpu::MigGeometry& geometry, int sign) {
  std::vector<const gpu::GpuInstanceProfile*> profiles;
  for (const auto& profile : geometry.profiles) profiles.push_back(&profile);
  std::ranges::stable_sort(profiles, {}, [sign](const gpu::GpuInstanceProfile* profile) {
    return std::tuple(sign * profile->compute_slices, sign * profile->memory_slices,
                      profile->kind != gpu::MigKind::kPlain);
  });
  return profiles;
}

}  // namespace

Occupancy::Occupancy(const gpu::MigGeometry& geometry)
    : geometry_(&geometry), instances_(geometry.profiles.size()) {
  for (const auto& profile : geometry.profiles) needs_.push_back(engines_of(profile));
  const auto profiles = largest_first(geometry);
  // If the whole GPU's engines are not reported, the parts' engines set no bound.
  const bool told = !profiles.empty() && profiles.front()->attributes;
  most_.fill(told ? 0 : std::numeric_limits<int>::max());
  for (std::size_t i = 0; i < most_.size(); ++i) {
    for (const auto& needs : needs_) most_[i] = std::max(most_[i], needs[i]);
  }
}

Occupancy::Engines Occupancy::engines_of(const gpu::GpuInstanceProfile& profile) {
  if (!profile.attributes) return {};
  return {profile.attributes->decoders, profile.attributes->encoders,
          profile.attributes->jpeg_engines, profile.attributes->ofa_engines};
}

int Occupancy::free_memory() const { return geometry_->memory_slices - std::popcount(memory_); }

bool Occupancy::has_room(const gpu::GpuInstanceProfile& profile) const {
  const auto at = index(profile);
  if (profile.compute_slices > free_compute() || instances_[at] >= profile.max_instances) {
    return false;
  }
  for (std::size_t i = 0; i < most_.size(); ++i) {
    if (engines_[i] + needs_[at][i] > most_[i]) return false;
  }
  return true;
}

bool Occupancy::fits(const gpu::GpuInstanceProfile& profile, int start) const {
  return (memory_ & slices(start, profile.memory_slices)) == 0 && has_room(profile);
}

void Occupancy::change(const gpu::GpuInstanceProfile& profile, int start, int by) {
  const auto at = index(profile);
  memory_ ^= slices(start, profile.memory_slices);
  compute_ += by * profile.compute_slices;
  instances_[at] += by;
  for (std::size_t i = 0; i < engines_.size(); ++i) engines_[i] += by * needs_[at][i];
}

void Occupancy::add(const GpuLayout& layout) {
  for (const auto& instance : layout.instances) {
    const auto* profile = geometry_->find(instance.profile_id);
    if (profile != nullptr) {
      add(*profile, instance.placement.start);
    } else {
      memory_ |= slices(instance.placement.start, instance.placement.size);
    }
  }
}

std::vector<const gpu::GpuInstanceProfile*> largest_first(const gpu::MigGeometry& geometry) {
  return sorted(geometry, -1);
}

std::vector<const gpu::GpuInstanceProfile*> smallest_first(const gpu::MigGeometry& geometry) {
  return sorted(geometry, 1);
}

// They are all of one size, so placing each as early as possible leaves most for the others.
int number_beside(Occupancy taken, const gpu::GpuInstanceProfile& profile) {
  int number = 0;
  for (const int start : profile.starts) {
    if (!taken.fits(profile, start)) continue;
    taken.add(profile, start);
    ++number;
  }
  return number;
}

std::vector<Instance> best_filling(const GpuLayout& layout, const gpu::MigGeometry& geometry) {
  Occupancy occupancy(geometry);
  occupancy.add(layout);
  return Filling(std::move(occupancy)).best();
}

}  // namespace tranche::mig
