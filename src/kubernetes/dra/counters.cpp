#include "dra/counters.h"

#include <fmt/format.h>

#include <algorithm>

#include "mig/occupancy.h"

namespace tranche::dra {
namespace {

using cluster::Counters;

void put(Counters& counters, const std::string& name, std::uint64_t value) {
  if (value > 0) counters[name] = value;
}

std::string slice_counter(int slice) { return fmt::format("memory-slice-{}", slice); }
std::string profile_counter(int profile) { return fmt::format("instances-{}", profile); }

std::uint64_t count(int number) { return static_cast<std::uint64_t>(std::max(number, 0)); }

// If the driver does not report the whole GPU's engines, those of its parts are not counted.
bool counts_engines(const gpu::MigGeometry& geometry) {
  const auto profiles = mig::largest_first(geometry);
  return !profiles.empty() && profiles.front()->attributes;
}

// The counters of the profile that do not depend on the placement.
Counters amounts_of(const gpu::GpuInstanceProfile& profile, bool engines) {
  Counters counters;
  put(counters, "compute-slices", count(profile.compute_slices));
  if (!engines || !profile.attributes) return counters;
  const auto& has = *profile.attributes;
  put(counters, "decoders", count(has.decoders));
  put(counters, "encoders", count(has.encoders));
  put(counters, "jpeg-engines", count(has.jpeg_engines));
  put(counters, "ofa-engines", count(has.ofa_engines));
  return counters;
}

bool is_scarce(const gpu::GpuInstanceProfile& profile) {
  return profile.max_instances > 0 && count(profile.max_instances) < profile.starts.size();
}

}  // namespace

Counters whole_gpu(const gpu::MigGeometry& geometry) {
  Counters counters;
  const bool engines = counts_engines(geometry);
  for (const auto& profile : geometry.profiles) {
    for (const auto& [name, value] : amounts_of(profile, engines)) {
      counters[name] = std::max(counters[name], value);
    }
    if (is_scarce(profile)) counters[profile_counter(profile.id)] = count(profile.max_instances);
  }
  put(counters, "compute-slices", count(geometry.compute_slices));
  for (int slice = 0; slice < geometry.memory_slices; ++slice) counters[slice_counter(slice)] = 1;
  return counters;
}

Counters of_instance(const gpu::MigGeometry& geometry, const gpu::GpuInstanceProfile& profile,
                     int start) {
  auto counters = amounts_of(profile, counts_engines(geometry));
  if (is_scarce(profile)) counters[profile_counter(profile.id)] = 1;
  const int end = std::min(start + profile.memory_slices, geometry.memory_slices);
  for (int slice = start; slice < end; ++slice) counters[slice_counter(slice)] = 1;
  return counters;
}

}  // namespace tranche::dra
