#include "mig/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "mig/place.h"

namespace tranche::mig {
namespace {

std::string nearest_hint(const GpuWish& wish, const gpu::MigGeometry& geometry) {
  std::vector<std::string> texts;
  for (const auto& one : nearest(wish, geometry)) texts.push_back(describe(one));
  return texts.empty() ? "" : fmt::format("nearest: {}", fmt::join(texts, "; or "));
}

// The MIG devices, by profile and compute slices, regardless of their GPU instances.
template <class Instances>
std::multiset<std::pair<int, int>> devices_in(const Instances& instances) {
  std::multiset<std::pair<int, int>> devices;
  for (const auto& instance : instances) {
    for (const int slices : instance.compute) devices.emplace(instance.profile_id, slices);
  }
  return devices;
}

bool meets(const GpuLayout& present, const std::vector<InstanceWish>& wish) {
  const auto has_devices = [](const Instance& instance) { return !instance.compute.empty(); };
  return present.enabled && std::ranges::all_of(present.instances, has_devices) &&
         devices_in(present.instances) == devices_in(wish);
}

Keeping keeping_of(const gpu::GpuUuid& gpu, const GpuLayout& present, const IsHeld& is_held) {
  Keeping keeping{.present = present.instances, .held = {}};
  for (const auto& instance : present.instances) {
    keeping.held.push_back(is_held && is_held(gpu, instance));
  }
  return keeping;
}

Result<GpuLayout> target_of(const GpuWish& wish, const gpu::Gpu& gpu, const GpuLayout& present,
                            const IsHeld& is_held) {
  if (!wish.enabled) return GpuLayout{};
  auto instances = instances_of(wish, gpu.mig_geometry);
  if (!instances) {
    return std::unexpected(
        std::move(instances.error()).with_context(fmt::format("GPU {}", gpu.index)));
  }
  // A pending mode would remove the instances.
  if (meets(present, *instances)) return GpuLayout{.enabled = true, .instances = present.instances};
  auto layout = place(*instances, gpu.mig_geometry, keeping_of(gpu.uuid, present, is_held));
  if (layout) return *std::move(layout);
  return fail(Code::kInvalidArgument,
              fmt::format("GPU {} ({}) has no place for {}", gpu.index, gpu.name, describe(wish)),
              nearest_hint(wish, gpu.mig_geometry));
}

}  // namespace

Result<Layout> target_of(const std::map<gpu::GpuUuid, GpuWish>& wishes, const gpu::Machine& machine,
                         const Layout& present, const IsHeld& is_held) {
  for (const auto& [uuid, wish] : wishes) {
    if (gpu::find_gpu(machine, uuid) == nullptr || !present.contains(uuid)) {
      return fail(Code::kNotFound, fmt::format("it is not known what {} has", uuid.value));
    }
  }
  Layout target;
  // By index, because the first that cannot have its wish is reported.
  for (const auto& gpu : machine.gpus) {
    const auto wish = wishes.find(gpu.uuid);
    if (wish == wishes.end()) continue;
    ASSIGN_OR_RETURN(auto layout, target_of(wish->second, gpu, present.at(gpu.uuid), is_held));
    target.emplace(gpu.uuid, std::move(layout));
  }
  return target;
}

}  // namespace tranche::mig
