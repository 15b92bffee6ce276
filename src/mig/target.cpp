#include "mig/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mig/place.h"

namespace tranche::mig {
namespace {

std::string nearest_hint(const GpuWish& wish, const gpu::MigGeometry& geometry) {
  std::vector<std::string> texts;
  for (const auto& one : nearest(wish, geometry)) texts.push_back(describe(one));
  return texts.empty() ? "" : fmt::format("nearest: {}", fmt::join(texts, "; or "));
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
  auto layout = place(*instances, gpu.mig_geometry, keeping_of(gpu.uuid, present, is_held));
  if (layout) return *std::move(layout);
  return fail(Code::kInvalidArgument,
              fmt::format("GPU {} ({}) has no place for {}", gpu.index, gpu.name, describe(wish)),
              nearest_hint(wish, gpu.mig_geometry));
}

}  // namespace

Result<Layout> target_of(const std::map<gpu::GpuUuid, GpuWish>& wishes, const gpu::Machine& machine,
                         const Layout& present, const IsHeld& is_held) {
  Layout target;
  for (const auto& [uuid, wish] : wishes) {
    const auto* gpu = gpu::find_gpu(machine, uuid);
    const auto has = present.find(uuid);
    if (gpu == nullptr || has == present.end()) {
      return fail(Code::kNotFound, fmt::format("it is not known what {} has", uuid.value));
    }
    ASSIGN_OR_RETURN(auto layout, target_of(wish, *gpu, has->second, is_held));
    target.emplace(uuid, std::move(layout));
  }
  return target;
}

}  // namespace tranche::mig
