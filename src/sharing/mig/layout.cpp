#include "mig/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tranche::mig {
namespace {

constexpr int kMostComputeSlices = 8;

// Like gpu::compute_instance_name; for a profile that the geometry lacks, its id.
std::string device_name(const gpu::MigGeometry& geometry, int profile_id, int slices) {
  const auto* profile = geometry.find(profile_id);
  if (profile == nullptr) return fmt::format("profile {}", profile_id);
  return gpu::compute_instance_name(profile->name, profile->compute_slices, slices);
}

// Largest first: by compute slices of the name, then by the name in reverse.
std::string listed(const std::map<std::string, int>& devices) {
  std::vector<std::pair<std::string, int>> sorted(devices.begin(), devices.end());
  std::erase_if(sorted, [](const auto& one) { return one.second == 0; });
  std::ranges::stable_sort(sorted, std::greater(), [](const auto& one) {
    const auto name = gpu::parse_mig_name(one.first);
    return name ? std::pair(name->gpu_slices, name->compute_slices) : std::pair(0, 0);
  });
  std::vector<std::string> parts;
  for (const auto& [name, count] : sorted) {
    parts.push_back(count == 1 ? name : fmt::format("{} x {}", name, count));
  }
  return parts.empty() ? "no instances" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string describe_instances(const GpuLayout& layout, const gpu::MigGeometry& geometry) {
  auto devices = devices_of(layout, geometry);
  for (const auto& instance : layout.instances) {
    if (!instance.compute.empty()) continue;
    const auto* profile = geometry.find(instance.profile_id);
    ++devices[device_name(geometry, instance.profile_id, profile ? profile->compute_slices : 0) +
              " without a compute instance"];
  }
  return listed(devices);
}

}  // namespace

Instance instance_of(const gpu::GpuInstance& instance) {
  Instance one{.profile_id = instance.profile_id, .placement = instance.placement, .compute = {}};
  for (const auto& compute : instance.compute) one.compute.push_back(compute.slices);
  return one;
}

GpuLayout layout_of(const gpu::MigState& state) {
  GpuLayout layout{
      .enabled = state.enabled, .instances = {}, .waits = state.pending != state.enabled};
  for (const auto& instance : state.instances) layout.instances.push_back(instance_of(instance));
  return layout;
}

GpuLayout as_it_can_be(const GpuLayout& asked, const GpuLayout& has) {
  auto can = asked;
  if (!asked.waits) return can;
  if (has.enabled != asked.enabled) return {.enabled = has.enabled};
  can.waits = has.waits || asked.instances.empty();
  return can;
}

bool explained_by_reboot(const GpuLayout& before, bool enabled_now, bool mode_needs_reset) {
  const bool kept = enabled_now == before.mode_to_come();
  return mode_needs_reset ? kept : kept || !enabled_now;
}

bool is_free(const std::vector<gpu::ComputeInstance>& compute, int start, int slices) {
  return std::ranges::none_of(compute, [&](const gpu::ComputeInstance& one) {
    return start < one.start + one.slices && one.start < start + slices;
  });
}

int compute_slices_of(const gpu::MigGeometry& geometry, int profile_id) {
  const auto* profile = geometry.find(profile_id);
  return profile == nullptr ? kMostComputeSlices : profile->compute_slices;
}

std::map<std::string, int> devices_of(const GpuLayout& layout, const gpu::MigGeometry& geometry) {
  std::map<std::string, int> devices;
  for (const auto& instance : layout.instances) {
    for (const int slices : instance.compute) {
      ++devices[device_name(geometry, instance.profile_id, slices)];
    }
  }
  return devices;
}

std::string describe(const GpuLayout& layout, const gpu::MigGeometry& geometry) {
  const auto text = layout.enabled ? describe_instances(layout, geometry) : std::string("MIG off");
  if (!layout.waits) return text;
  return fmt::format("{} (MIG mode {} waits for a reset)", text,
                     layout.mode_to_come() ? "on" : "off");
}

std::string describe(const GpuWish& wish) {
  return wish.enabled ? listed(wish.devices) : "MIG off";
}

}  // namespace tranche::mig
