// nearest and full_layouts of mig/place.h: which combinations of profiles a GPU can hold.

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "mig/occupancy.h"
#include "mig/place.h"

namespace tranche::mig {
namespace {

using Profile = gpu::GpuInstanceProfile;
using Profiles = std::vector<const Profile*>;
// The number of instances of each profile.
using Counts = std::vector<int>;

std::vector<InstanceWish> instances(const Profiles& profiles, const Counts& counts) {
  std::vector<InstanceWish> wishes;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    wishes.insert(wishes.end(), static_cast<std::size_t>(counts[i]),
                  {.profile_id = profiles[i]->id, .compute = {profiles[i]->compute_slices}});
  }
  return wishes;
}

// Calls `use` for every combination that the GPU can hold, those with more of the first profiles
// first.
class Combinations {
 public:
  Combinations(const Profiles& profiles, const gpu::MigGeometry& geometry,
               const std::function<void(const Counts&)>& use)
      : profiles_(profiles), geometry_(geometry), use_(use) {
    Counts counts(profiles.size());
    choose(0, counts);
  }

 private:
  // Everything chosen before `at` can be placed.
  void choose(std::size_t at, Counts& counts) {
    if (at == profiles_.size()) return use_(counts);
    int most = 0;
    while (fits(counts, at, most + 1)) ++most;
    for (int count = most; count >= 0; --count) {
      counts[at] = count;
      choose(at + 1, counts);
    }
    counts[at] = 0;
  }
  bool fits(Counts counts, std::size_t at, int count) const {
    counts[at] = count;
    return can_place(instances(profiles_, counts), geometry_);
  }

  const Profiles& profiles_;
  const gpu::MigGeometry& geometry_;
  const std::function<void(const Counts&)>& use_;
};

bool is_full(const Profiles& profiles, Counts counts, const gpu::MigGeometry& geometry) {
  for (auto& count : counts) {
    ++count;
    if (can_place(instances(profiles, counts), geometry)) return false;
    --count;
  }
  return true;
}

int compute_slices(const Profiles& profiles, const Counts& counts) {
  int slices = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) slices += counts[i] * profiles[i]->compute_slices;
  return slices;
}

struct Candidate {
  Counts counts;
  int lacks = 0;     // compute slices of the wish that it lacks
  int short_of = 0;  // compute slices that it has less than the wish
  int adds = 0;      // compute slices of what the wish does not have
  int instances = 0;
  auto rank() const { return std::tuple(lacks, short_of, adds, instances); }
};

Candidate candidate(const Profiles& profiles, const Counts& wished, const Counts& counts) {
  Counts lacks(counts.size());
  Counts adds(counts.size());
  Candidate made{.counts = counts};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    lacks[i] = std::max(0, wished[i] - counts[i]);
    adds[i] = std::max(0, counts[i] - wished[i]);
    made.instances += counts[i];
  }
  made.lacks = compute_slices(profiles, lacks);
  made.adds = compute_slices(profiles, adds);
  made.short_of = std::max(0, compute_slices(profiles, wished) - compute_slices(profiles, counts));
  return made;
}

bool is_within(const Counts& a, const Counts& b) {
  return std::ranges::equal(a, b, std::less_equal());
}

// The profiles of the wish, and the plain ones.
Profiles worth_trying(const std::vector<InstanceWish>& wished, const gpu::MigGeometry& geometry) {
  auto profiles = largest_first(geometry);
  std::erase_if(profiles, [&](const Profile* profile) {
    return profile->kind != gpu::MigKind::kPlain &&
           std::ranges::find(wished, profile->id, &InstanceWish::profile_id) == wished.end();
  });
  return profiles;
}

std::vector<Candidate> candidates(const Profiles& profiles, const Counts& wished,
                                  const gpu::MigGeometry& geometry) {
  std::vector<Candidate> all;
  const std::function<void(const Counts&)> add = [&](const Counts& counts) {
    auto one = candidate(profiles, wished, counts);
    // Skip combinations that have nothing of the wish.
    if (one.lacks < compute_slices(profiles, wished)) all.push_back(std::move(one));
  };
  const Combinations tried(profiles, geometry, add);
  std::ranges::stable_sort(all, {}, &Candidate::rank);
  return all;
}

// For each profile, the wish's compute instances first.
GpuWish wish_of(const Profiles& profiles, const Counts& counts,
                const std::vector<InstanceWish>& wished) {
  GpuWish wish;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto& profile = *profiles[i];
    int left = counts[i];
    for (const auto& one : wished) {
      if (one.profile_id != profile.id || left == 0) continue;
      --left;
      for (const int slices : one.compute) {
        ++wish.devices[gpu::compute_instance_name(profile.name, profile.compute_slices, slices)];
      }
    }
    if (left > 0) wish.devices[profile.name] += left;
  }
  return wish;
}

}  // namespace

std::vector<GpuWish> nearest(const GpuWish& wish, const gpu::MigGeometry& geometry,
                             std::size_t most) {
  const auto wished = instances_of(wish, geometry);
  if (!wished) return {};
  const auto profiles = worth_trying(*wished, geometry);
  Counts counts;
  for (const auto* profile : profiles) {
    counts.push_back(
        static_cast<int>(std::ranges::count(*wished, profile->id, &InstanceWish::profile_id)));
  }
  std::vector<Counts> chosen;
  for (const auto& one : candidates(profiles, counts, geometry)) {
    if (chosen.size() == most) break;
    const auto covers = [&](const Counts& better) { return is_within(one.counts, better); };
    if (std::ranges::none_of(chosen, covers)) chosen.push_back(one.counts);
  }
  std::vector<GpuWish> wishes;
  for (const auto& one : chosen) wishes.push_back(wish_of(profiles, one, *wished));
  return wishes;
}

std::vector<std::vector<InstanceWish>> full_layouts(const gpu::MigGeometry& geometry) {
  std::vector<std::vector<InstanceWish>> full;
  const auto profiles = largest_first(geometry);
  const std::function<void(const Counts&)> add = [&](const Counts& counts) {
    if (is_full(profiles, counts, geometry)) full.push_back(instances(profiles, counts));
  };
  if (!geometry.empty()) const Combinations tried(profiles, geometry, add);
  return full;
}

}  // namespace tranche::mig
