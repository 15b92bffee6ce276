#include "mig/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "mig/occupancy.h"

namespace tranche::mig {
namespace {

using Profile = gpu::GpuInstanceProfile;

std::vector<int> descending(std::vector<int> sizes) {
  std::ranges::sort(sizes, std::greater());
  return sizes;
}

// A wish, and the present instances like it.
struct Wanted {
  const Profile* profile = nullptr;
  const InstanceWish* wish = nullptr;
  // Value of keeping each present instance of the profile, by start.
  std::array<int, 64> worth{};
};

// A held instance is worth more than all others together; one that loses a compute instance, so
// that only its GPU instance stays, less than any that loses none.
constexpr int kGpuInstanceStays = 1;
constexpr int kAsItIs = 1;
constexpr int kStays = 64;
constexpr int kHeldStays = 64 * 64;

int worth_of(const Instance& present, bool held, const InstanceWish& wish) {
  const auto has = descending(present.compute);
  if (!std::ranges::includes(wish.compute, has, std::greater())) return kGpuInstanceStays;
  return kStays + (held ? kHeldStays : 0) + (has == wish.compute ? kAsItIs : 0);
}

class Search {
 public:
  enum class Aim { kBest, kAny };

  Search(const std::vector<InstanceWish>& wishes, const gpu::MigGeometry& geometry,
         const Keeping& keeping, Aim aim)
      : occupancy_(geometry), profiles_(largest_first(geometry)), aim_(aim) {
    for (const auto& wish : wishes) add(wish, keeping);
    std::ranges::stable_sort(wanted_, [](const Wanted& a, const Wanted& b) {
      return std::tuple(-a.profile->memory_slices, a.profile, *a.wish) <
             std::tuple(-b.profile->memory_slices, b.profile, *b.wish);
    });
    starts_.resize(wanted_.size());
    if (is_possible(geometry)) place(0, 0);
  }

  bool found() const { return worth_ >= 0; }
  const std::vector<Wanted>& wanted() const { return wanted_; }
  const std::vector<int>& starts() const { return best_; }  // of each wanted

 private:
  void add(const InstanceWish& wish, const Keeping& keeping) {
    const auto* profile = occupancy_.geometry().find(wish.profile_id);
    if (profile == nullptr) {
      unknown_ = true;
      return;
    }
    Wanted wanted{.profile = profile, .wish = &wish};
    for (std::size_t i = 0; i < keeping.present.size(); ++i) {
      const auto& present = keeping.present[i];
      const auto start = static_cast<std::size_t>(present.placement.start);
      if (present.profile_id != profile->id || start >= wanted.worth.size()) continue;
      wanted.worth[start] = worth_of(present, i < keeping.held.size() && keeping.held[i], wish);
    }
    wanted_.push_back(wanted);
  }

  bool is_possible(const gpu::MigGeometry& geometry) const {
    int compute = 0;
    int memory = 0;
    for (const auto& one : wanted_) {
      compute += one.profile->compute_slices;
      memory += one.profile->memory_slices;
    }
    return !unknown_ && compute <= geometry.compute_slices && memory <= geometry.memory_slices;
  }

  // Among equal wishes, the later one comes after the earlier one.
  int first_start(std::size_t at) const {
    return at > 0 && *wanted_[at].wish == *wanted_[at - 1].wish ? starts_[at - 1] + 1 : 0;
  }

  void place(std::size_t at, int worth) {
    if (aim_ == Aim::kAny && found()) return;
    if (at == wanted_.size()) return compare(worth);
    const auto& profile = *wanted_[at].profile;
    const int first = first_start(at);
    for (const int start : profile.starts) {
      if (start < first || !occupancy_.fits(profile, start)) continue;
      occupancy_.add(profile, start);
      starts_[at] = start;
      place(at + 1, worth + wanted_[at].worth[static_cast<std::size_t>(start)]);
      occupancy_.remove(profile, start);
    }
  }

  void compare(int worth) {
    if (worth < worth_) return;
    auto room = aim_ == Aim::kAny ? std::vector<int>() : this->room();
    if (worth == worth_ && room <= room_) return;
    worth_ = worth;
    room_ = std::move(room);
    best_ = starts_;
  }

  // How many instances of each profile fit in addition, each alone, largest profiles first.
  std::vector<int> room() const {
    std::vector<int> room;
    for (const auto* profile : profiles_) room.push_back(number_beside(occupancy_, *profile));
    return room;
  }

  Occupancy occupancy_;
  std::vector<const Profile*> profiles_;
  Aim aim_;
  bool unknown_ = false;
  std::vector<Wanted> wanted_;
  std::vector<int> starts_;
  std::vector<int> best_;
  int worth_ = -1;
  std::vector<int> room_;
};

// The compute instances, in their present order if the instance stays.
std::vector<int> compute_of(const Wanted& wanted, int start, const Keeping& keeping) {
  for (const auto& present : keeping.present) {
    if (present.profile_id == wanted.profile->id && present.placement.start == start &&
        descending(present.compute) == wanted.wish->compute) {
      return present.compute;
    }
  }
  return wanted.wish->compute;
}

std::string at_place(const Profile& profile, const gpu::Placement& placement) {
  return fmt::format("{} at memory slice {}", profile.name, placement.start);
}

Result<void> check_instance(const Instance& instance, const Occupancy& taken) {
  const auto* profile = taken.geometry().find(instance.profile_id);
  if (profile == nullptr) {
    return fail(Code::kInvalidArgument,
                fmt::format("this GPU has no profile with the id {}", instance.profile_id));
  }
  const auto& place = instance.placement;
  const auto where = at_place(*profile, place);
  if (!std::ranges::binary_search(profile->starts, place.start) ||
      place.size != profile->memory_slices) {
    return fail(Code::kInvalidArgument, fmt::format("{}: it cannot be there", where));
  }
  const int compute = std::accumulate(instance.compute.begin(), instance.compute.end(), 0);
  if (compute > profile->compute_slices) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: its compute instances have {} slices of {}", where, compute,
                            profile->compute_slices));
  }
  if (!taken.has_room(*profile)) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: the GPU's compute slices, its media engines or the number of "
                            "such instances would be exceeded",
                            where));
  }
  if (!taken.fits(*profile, place.start)) {
    return fail(Code::kInvalidArgument, fmt::format("{}: another instance is there", where));
  }
  return {};
}

}  // namespace

Result<void> check(const GpuLayout& layout, const gpu::MigGeometry& geometry) {
  if (!layout.enabled && !layout.instances.empty()) {
    return fail(Code::kInvalidArgument, "there are no instances where MIG is off");
  }
  Occupancy taken(geometry);
  for (const auto& instance : layout.instances) {
    TRY(check_instance(instance, taken));
    taken.add(*geometry.find(instance.profile_id), instance.placement.start);
  }
  return {};
}

std::optional<GpuLayout> place(const std::vector<InstanceWish>& wish,
                               const gpu::MigGeometry& geometry, const Keeping& keeping) {
  const Search search(wish, geometry, keeping, Search::Aim::kBest);
  if (!search.found()) return std::nullopt;
  GpuLayout layout{.enabled = true, .instances = {}};
  for (std::size_t i = 0; i < search.wanted().size(); ++i) {
    const auto& wanted = search.wanted()[i];
    const int start = search.starts()[i];
    layout.instances.push_back(
        {.profile_id = wanted.profile->id,
         .placement = {.start = start, .size = wanted.profile->memory_slices},
         .compute = compute_of(wanted, start, keeping)});
  }
  std::ranges::sort(layout.instances, {}, &Instance::placement);
  return layout;
}

bool can_place(const std::vector<InstanceWish>& wish, const gpu::MigGeometry& geometry) {
  return Search(wish, geometry, {}, Search::Aim::kAny).found();
}

}  // namespace tranche::mig
