// stranded of mig/place.h: what is left next to a layout.

#include <fmt/format.h>

#include "mig/occupancy.h"
#include "mig/place.h"

namespace tranche::mig {
namespace {

std::string counted(int number, std::string_view kind) {
  if (number == 0) return "";
  return fmt::format("{} {} {}", number, kind, number == 1 ? "slice" : "slices");
}

}  // namespace

Stranded stranded(const GpuLayout& layout, const gpu::MigGeometry& geometry) {
  if (!layout.enabled) return {};
  Occupancy filled(geometry);
  filled.add(layout);
  filled.add(GpuLayout{.enabled = true, .instances = best_filling(layout, geometry)});
  return {.compute_slices = filled.free_compute(), .memory_slices = filled.free_memory()};
}

std::string describe(const Stranded& stranded) {
  const auto compute = counted(stranded.compute_slices, "compute");
  const auto memory = counted(stranded.memory_slices, "memory");
  return compute + (compute.empty() || memory.empty() ? "" : " and ") + memory;
}

}  // namespace tranche::mig
