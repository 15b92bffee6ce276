// why_not of mig/place.h: why a wish cannot be met.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "mig/occupancy.h"
#include "mig/place.h"

namespace tranche::mig {
namespace {

using InstanceWishes = std::vector<InstanceWish>;
using gpu::MigAttributes;

// What they all take together; nothing for an unknown profile.
template <class Of>
int sum(const InstanceWishes& wish, const gpu::MigGeometry& geometry, const Of& of) {
  int all = 0;
  for (const auto& one : wish) {
    const auto* profile = geometry.find(one.profile_id);
    all += profile == nullptr ? 0 : of(*profile);
  }
  return all;
}

std::string too_many_slices(const InstanceWishes& wish, const gpu::MigGeometry& geometry) {
  const int compute = sum(wish, geometry, [](const auto& one) { return one.compute_slices; });
  const int memory = sum(wish, geometry, [](const auto& one) { return one.memory_slices; });
  if (compute > geometry.compute_slices) {
    return fmt::format("they take {} compute slices of {}", compute, geometry.compute_slices);
  }
  if (memory > geometry.memory_slices) {
    return fmt::format("they take {} memory slices of {}", memory, geometry.memory_slices);
  }
  return "";
}

std::string too_many_of_one(const InstanceWishes& wish, const gpu::MigGeometry& geometry) {
  for (const auto& profile : geometry.profiles) {
    if (std::ranges::count(wish, profile.id, &InstanceWish::profile_id) > profile.max_instances) {
      return fmt::format("it holds at most {} of {}", profile.max_instances, profile.name);
    }
  }
  return "";
}

std::string too_many_engines(const InstanceWishes& wish, const gpu::MigGeometry& geometry) {
  const auto* whole = geometry.empty() ? nullptr : largest_first(geometry).front();
  if (whole == nullptr || !whole->attributes) return "";
  struct Engine {
    int MigAttributes::* member;
    std::string_view name;
  };
  for (const auto& [member, name] :
       std::array{Engine{&MigAttributes::decoders, "decoders"},
                  Engine{&MigAttributes::encoders, "encoders"},
                  Engine{&MigAttributes::jpeg_engines, "JPEG engines"},
                  Engine{&MigAttributes::ofa_engines, "optical-flow engines"}}) {
    const int taken = sum(wish, geometry, [&](const gpu::GpuInstanceProfile& one) {
      return one.attributes ? (*one.attributes).*member : 0;
    });
    const int there = (*whole->attributes).*member;
    if (taken > there) return fmt::format("they take {} {} of {}", taken, name, there);
  }
  return "";
}

}  // namespace

std::string why_not(const std::vector<InstanceWish>& wish, const gpu::MigGeometry& geometry) {
  if (can_place(wish, geometry)) return "";
  for (const auto& why : {too_many_slices(wish, geometry), too_many_of_one(wish, geometry),
                          too_many_engines(wish, geometry)}) {
    if (!why.empty()) return why;
  }
  return "each has its places, but there are none for all of them together";
}

}  // namespace tranche::mig
