// instances_of of mig/place.h: the GPU instances for the names in a wish.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>

#include "base/edit_distance.h"
#include "mig/occupancy.h"
#include "mig/place.h"

namespace tranche::mig {
namespace {

using Profile = gpu::GpuInstanceProfile;

// NVML_COMPUTE_INSTANCE_PROFILE_*: there are none of 5 slices.
constexpr std::array kComputeSlices = {1, 2, 3, 4, 6, 7, 8};

constexpr std::size_t kLongestShown = 80;  // in a message

std::unexpected<Error> refused(std::string_view name, std::string_view why) {
  return fail(Code::kInvalidArgument, fmt::format("'{}': {}", name.substr(0, kLongestShown), why));
}

std::unexpected<Error> no_profile(std::string_view name, const gpu::MigGeometry& geometry) {
  std::vector<std::string_view> names;
  for (const auto& profile : geometry.profiles) names.emplace_back(profile.name);
  if (names.empty()) return refused(name, "this GPU has no MIG profiles");
  const auto near = tranche::nearest(name, names);
  return fail(Code::kInvalidArgument,
              fmt::format("'{}' is no MIG profile of this GPU", name.substr(0, kLongestShown)),
              fmt::format("{}it has {}", near ? fmt::format("did you mean \"{}\"? ", *near) : "",
                          fmt::join(names, ", ")));
}

struct AskedDevice {
  const Profile* profile = nullptr;
  int compute = 0;  // slices of each compute instance
  int count = 0;
};

Result<AskedDevice> asked_by(std::string_view name, int count, const gpu::MigGeometry& geometry) {
  const auto* profile = gpu::match_profile(geometry, gpu::gpu_instance_name(name));
  if (profile == nullptr) return no_profile(name, geometry);
  const int whole = profile->compute_slices;
  const int compute = gpu::named_compute_slices(name).value_or(whole);
  if (compute > whole) {
    return refused(name,
                   fmt::format("{} compute slices are more than {} has", compute, profile->name));
  }
  if (compute != whole && std::ranges::find(kComputeSlices, compute) == kComputeSlices.end()) {
    return refused(name, fmt::format("no compute instance has {} slices", compute));
  }
  if (count < 0) return refused(name, fmt::format("{} of it cannot be", count));
  return AskedDevice{.profile = profile, .compute = compute, .count = count};
}

// The fewest GPU instances that hold compute instances of these sizes: first fit, largest first.
// That is exact for up to 3 slices, and a GPU has no two instances with more.
std::vector<InstanceWish> packed(const Profile& profile, std::vector<int> sizes) {
  std::vector<InstanceWish> packs;
  std::ranges::sort(sizes, std::greater());
  for (const int size : sizes) {
    if (size == profile.compute_slices) {
      packs.push_back({.profile_id = profile.id, .compute = {size}});
      continue;
    }
    const auto roomy = std::ranges::find_if(packs, [&](const InstanceWish& one) {
      return std::accumulate(one.compute.begin(), one.compute.end(), size) <=
             profile.compute_slices;
    });
    if (roomy != packs.end()) {
      roomy->compute.push_back(size);
    } else {
      packs.push_back({.profile_id = profile.id, .compute = {size}});
    }
  }
  return packs;
}

// Numbers above `most` become `most`.
Result<std::vector<InstanceWish>> instances_of_at_most(const GpuWish& wish,
                                                       const gpu::MigGeometry& geometry, int most) {
  std::map<const Profile*, std::vector<int>> sizes;
  if (!wish.enabled) return std::vector<InstanceWish>();
  for (const auto& [name, count] : wish.devices) {
    ASSIGN_OR_RETURN(const auto asked, asked_by(name, count, geometry));
    auto& all = sizes[asked.profile];
    const auto number = static_cast<std::size_t>(std::min(asked.count, most));
    all.insert(all.end(), number, asked.compute);
  }
  std::vector<InstanceWish> instances;
  for (const auto* profile : largest_first(geometry)) {
    if (const auto own = sizes.find(profile); own != sizes.end()) {
      std::ranges::move(packed(*profile, own->second), std::back_inserter(instances));
    }
  }
  return instances;
}

}  // namespace

Result<std::vector<InstanceWish>> instances_of(const GpuWish& wish,
                                               const gpu::MigGeometry& geometry) {
  // Larger numbers are clamped to just more than a GPU can hold.
  return instances_of_at_most(wish, geometry, geometry.compute_slices + 1);
}

Result<std::vector<InstanceWish>> all_instances_of(const GpuWish& wish,
                                                   const gpu::MigGeometry& geometry) {
  return instances_of_at_most(wish, geometry, kMostInstances);
}

}  // namespace tranche::mig
