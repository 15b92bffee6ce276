#include "mig/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "mig/occupancy.h"
#include "mig/place.h"

namespace tranche::mig {
namespace {

using Profile = gpu::GpuInstanceProfile;
using Counts = std::vector<int>;  // of each wished profile

constexpr std::size_t kMostSteps = 200'000;

// What one GPU can hold of the profiles when no more of them fits.
std::vector<Counts> patterns_of(const std::vector<const Profile*>& profiles,
                                const gpu::MigGeometry& geometry) {
  std::set<Counts> all;
  for (const auto& full : full_layouts(geometry)) {
    Counts counts;
    for (const auto* profile : profiles) {
      counts.push_back(
          static_cast<int>(std::ranges::count(full, profile->id, &InstanceWish::profile_id)));
    }
    all.insert(std::move(counts));
  }
  std::vector<Counts> patterns;
  for (const auto& one : all) {
    const bool is_part = std::ranges::any_of(all, [&](const Counts& other) {
      return other != one && std::ranges::equal(one, other, std::less_equal());
    });
    if (!is_part) patterns.push_back(one);
  }
  return patterns;
}

Counts least(const Counts& a, const Counts& b) {
  Counts counts(a.size());
  std::ranges::transform(a, b, counts.begin(), [](int x, int y) { return std::min(x, y); });
  return counts;
}

Counts less(Counts from, const Counts& taken) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= taken[i];
  return from;
}

bool is_none(const Counts& counts) {
  return std::ranges::all_of(counts, [](int count) { return count == 0; });
}

class Packer {
 public:
  Packer(const std::vector<const Profile*>& profiles, const gpu::MigGeometry& geometry)
      : profiles_(profiles), geometry_(geometry), patterns_(patterns_of(profiles, geometry)) {}

  // The contents of each GPU, and whether that is the fewest GPUs. Layouts that are the same on all
  // GPUs are preferred.
  std::pair<std::map<Counts, std::size_t>, bool> pack(const Counts& wished) {
    auto found = search(wished);
    std::size_t gpus = 0;
    for (const auto& [counts, number] : found.first) gpus += number;
    if (const auto each = alike(wished, static_cast<int>(gpus))) found.first = {{*each, gpus}};
    return found;
  }

 private:
  // Equal parts for all GPUs, if possible.
  std::optional<Counts> alike(const Counts& wished, int gpus) const {
    Counts each = wished;
    for (auto& count : each) {
      if (gpus == 0 || count % gpus != 0) return std::nullopt;
      count /= gpus;
    }
    const bool is_possible = std::ranges::any_of(patterns_, [&](const Counts& pattern) {
      return std::ranges::equal(each, pattern, std::less_equal());
    });
    return is_possible ? std::optional(each) : std::nullopt;
  }

  std::pair<std::map<Counts, std::size_t>, bool> search(const Counts& wished) {
    const auto quick = greedy(wished);
    std::size_t gpus = 0;
    for (const auto& [counts, number] : quick) gpus += number;
    for (auto few = at_least(wished); few < gpus; ++few) {
      taken_.clear();
      if (fits(wished, few)) return {grouped(), true};
      if (is_given_up()) return {quick, false};
      failed_.clear();
    }
    return {quick, true};
  }

  bool is_given_up() const { return steps_ >= kMostSteps; }

  std::pair<long, long> slices(const Counts& counts) const {
    std::pair<long, long> sum;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      sum.first += static_cast<long>(counts[i]) * profiles_[i]->compute_slices;
      sum.second += static_cast<long>(counts[i]) * profiles_[i]->memory_slices;
    }
    return sum;
  }

  std::size_t at_least(const Counts& wished) const {
    const auto over = [](long a, long b) { return (a + b - 1) / b; };
    const auto [compute, memory] = slices(wished);
    auto gpus =
        std::max(over(compute, geometry_.compute_slices), over(memory, geometry_.memory_slices));
    for (std::size_t i = 0; i < wished.size(); ++i) {
      gpus = std::max(gpus, over(wished[i], most_of(i)));
    }
    return static_cast<std::size_t>(gpus);
  }

  int most_of(std::size_t profile) const {
    int most = 1;
    for (const auto& pattern : patterns_) most = std::max(most, pattern[profile]);
    return most;
  }

  // Repeats the fullest possible GPU as often as the remaining instances allow.
  std::map<Counts, std::size_t> greedy(Counts left) const {
    std::map<Counts, std::size_t> gpus;
    while (!is_none(left)) {
      const auto best = *std::ranges::max_element(
          patterns_, {}, [&](const Counts& pattern) { return slices(least(pattern, left)); });
      const auto part = least(best, left);
      int times = std::numeric_limits<int>::max();
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (part[i] > 0) times = std::min(times, left[i] / part[i]);
      }
      gpus[part] += static_cast<std::size_t>(times);
      for (std::size_t i = 0; i < part.size(); ++i) left[i] -= part[i] * times;
    }
    return gpus;
  }

  // Whether `gpus` GPUs hold the rest. Some GPU has the largest remaining profile, so each step
  // tries the GPUs that have it.
  bool fits(const Counts& left, std::size_t gpus) {
    if (is_none(left)) return true;
    if (++steps_ >= kMostSteps || gpus < at_least(left) || failed_.contains({left, gpus})) {
      return false;
    }
    const auto largest = static_cast<std::size_t>(
        std::ranges::find_if(left, [](int count) { return count > 0; }) - left.begin());
    std::set<Counts> tried;
    for (const auto& pattern : patterns_) {
      const auto part = least(pattern, left);
      if (part[largest] == 0 || !tried.insert(part).second) continue;
      taken_.push_back(part);
      if (fits(less(left, part), gpus - 1)) return true;
      taken_.pop_back();
    }
    failed_.insert({left, gpus});
    return false;
  }

  std::map<Counts, std::size_t> grouped() const {
    std::map<Counts, std::size_t> gpus;
    for (const auto& one : taken_) ++gpus[one];
    return gpus;
  }

  const std::vector<const Profile*>& profiles_;
  const gpu::MigGeometry& geometry_;
  std::vector<Counts> patterns_;
  std::size_t steps_ = 0;
  std::vector<Counts> taken_;
  std::set<std::pair<Counts, std::size_t>> failed_;
};

// The wished instances of each profile, to distribute over GPUs. Other compute instances do not
// change the place.
class Stock {
 public:
  explicit Stock(const std::vector<InstanceWish>& wishes) {
    for (const auto& wish : wishes) ++left_[wish.profile_id][wish.compute];
  }
  std::vector<InstanceWish> take(int profile_id, int count) {
    std::vector<InstanceWish> taken;
    auto& left = left_[profile_id];
    for (; count > 0; --count) {
      const auto last = std::prev(left.end());
      taken.push_back({.profile_id = profile_id, .compute = last->first});
      if (--last->second == 0) left.erase(last);
    }
    return taken;
  }

 private:
  std::map<int, std::map<std::vector<int>, int>> left_;
};

std::vector<const Profile*> profiles_in(const std::vector<InstanceWish>& wishes,
                                        const gpu::MigGeometry& geometry) {
  auto profiles = largest_first(geometry);
  std::erase_if(profiles, [&](const Profile* profile) {
    return std::ranges::find(wishes, profile->id, &InstanceWish::profile_id) == wishes.end();
  });
  return profiles;
}

// The compute instances were distributed over GPU instances before, by first fit: exact for up to 3
// slices.
bool shares_large(const std::vector<InstanceWish>& wishes, const gpu::MigGeometry& geometry) {
  return std::ranges::any_of(wishes, [&](const InstanceWish& wish) {
    const int all = geometry.find(wish.profile_id)->compute_slices;
    return all > 3 && wish.compute != std::vector{all};
  });
}

void add(const GpuLayout& layout, std::vector<Packing::Alike>& layouts) {
  const auto same = std::ranges::find(layouts, layout, &Packing::Alike::layout);
  if (same != layouts.end()) {
    ++same->gpus;
  } else {
    layouts.push_back({.layout = layout, .gpus = 1});
  }
}

}  // namespace

std::size_t Packing::gpus() const {
  return std::accumulate(layouts.begin(), layouts.end(), std::size_t{0},
                         [](std::size_t sum, const Alike& alike) { return sum + alike.gpus; });
}

Result<Packing> pack(const GpuWish& wish, const gpu::MigGeometry& geometry) {
  ASSIGN_OR_RETURN(const auto wishes, all_instances_of(wish, geometry));
  const auto profiles = profiles_in(wishes, geometry);
  Counts wished;
  for (const auto* profile : profiles) {
    if (!can_place({{.profile_id = profile->id, .compute = {}}}, geometry)) {
      return fail(Code::kInvalidArgument, fmt::format("no GPU can hold a {}", profile->name));
    }
    wished.push_back(
        static_cast<int>(std::ranges::count(wishes, profile->id, &InstanceWish::profile_id)));
  }
  auto [gpus, fewest] = Packer(profiles, geometry).pack(wished);
  Packing packing{.layouts = {}, .fewest = fewest && !shares_large(wishes, geometry)};
  Stock stock(wishes);
  for (auto one = gpus.rbegin(); one != gpus.rend(); ++one) {
    for (std::size_t gpu = 0; gpu < one->second; ++gpu) {
      std::vector<InstanceWish> instances;
      for (std::size_t i = 0; i < profiles.size(); ++i) {
        std::ranges::move(stock.take(profiles[i]->id, one->first[i]),
                          std::back_inserter(instances));
      }
      const auto layout = place(instances, geometry);
      if (!layout) return fail(Code::kInternal, "what was found to fit does not fit");
      add(*layout, packing.layouts);
    }
  }
  return packing;
}

}  // namespace tranche::mig
