#include "mig/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "mig/occupancy.h"

namespace tranche::mig {
namespace {

using Area = PictureCell::Area;

// The number of memory slices drawn below one compute slice.
int unit_of(const gpu::MigGeometry& geometry) {
  const auto smallest =
      std::ranges::min_element(geometry.profiles, {}, &gpu::GpuInstanceProfile::memory_slices);
  return smallest == geometry.profiles.end() ? 1 : std::max(1, smallest->memory_slices);
}

// An instance as drawn in both rows.
struct Drawn {
  const Instance* instance;
  std::string name;
  int compute_slices = 0;
  std::optional<gpu::MigAttributes> attributes;
};

Drawn drawn(const Instance& instance, const gpu::MigGeometry& geometry) {
  const auto* profile = geometry.find(instance.profile_id);
  if (profile == nullptr) {
    return {&instance, fmt::format("id {}", instance.profile_id), instance.placement.size, {}};
  }
  return {&instance, profile->name, profile->compute_slices, profile->attributes};
}

std::string gibibytes(Bytes memory) {
  return fmt::format("{:.1f}Gi", static_cast<double>(memory.mib()) / 1024);
}

// Adds the cells between `from` and `to`, all free or all stranded, as long as possible.
void add_empty(int from, int to, std::uint64_t usable, std::vector<PictureCell>& cells) {
  for (int slice = from; slice < to; ++slice) {
    const bool is_free = (usable >> static_cast<unsigned>(slice) & 1U) != 0;
    const auto area = is_free ? Area::kFree : Area::kStranded;
    if (slice > from && cells.back().area == area) {
      cells.back().to = slice + 1;
    } else {
      cells.push_back(
          {.from = slice, .to = slice + 1, .area = area, .name = is_free ? "free" : ""});
    }
  }
}

// `cells` in order, with the empty space before, between and after them.
std::vector<PictureCell> filled(const std::vector<PictureCell>& cells, int columns,
                                std::uint64_t usable) {
  std::vector<PictureCell> all;
  int at = 0;
  for (const auto& cell : cells) {
    add_empty(at, cell.from, usable, all);
    all.push_back(cell);
    at = cell.to;
  }
  add_empty(at, columns, usable, all);
  return all;
}

std::uint64_t bits(int from, int to) {
  std::uint64_t all = 0;
  for (int i = from; i < to; ++i) all |= std::uint64_t{1} << static_cast<unsigned>(i);
  return all;
}

PictureCell memory_cell(const Drawn& one) {
  const auto& place = one.instance->placement;
  return {.from = place.start,
          .to = place.end(),
          .area = Area::kInstance,
          .slices = one.compute_slices,
          .name = one.name,
          .note = one.attributes ? gibibytes(one.attributes->memory) : ""};
}

std::string compute_name(const Drawn& one, int slices, int all) {
  if (slices != one.compute_slices) return fmt::format("{}c", slices);
  return one.attributes ? fmt::format("{} SM", one.attributes->multiprocessors)
                        : fmt::format("{} of {}", slices, all);
}

// One cell for each compute instance, and one for the slices that none has.
void add_compute(const Drawn& one, const gpu::MigGeometry& geometry,
                 std::vector<PictureCell>& cells) {
  const int unit = unit_of(geometry);
  int at = one.instance->placement.start;
  int left = one.compute_slices;
  for (const int slices : one.instance->compute) {
    cells.push_back({.from = at,
                     .to = at + slices * unit,
                     .area = Area::kInstance,
                     .slices = one.compute_slices,
                     .name = compute_name(one, slices, geometry.compute_slices)});
    at += slices * unit;
    left -= slices;
  }
  if (left > 0) {
    cells.push_back({.from = at, .to = at + left * unit, .area = Area::kFree, .name = "unused"});
  }
}

std::vector<PictureRow> whole(const gpu::MigGeometry& geometry) {
  const int compute = geometry.compute_slices * unit_of(geometry);
  return {{.name = "memory",
           .cells = {{.from = 0,
                      .to = geometry.memory_slices,
                      .area = Area::kInstance,
                      .slices = geometry.compute_slices,
                      .name = "the whole GPU",
                      .note = "MIG off"}}},
          {.name = "compute",
           .cells = {{.from = 0,
                      .to = compute,
                      .area = Area::kInstance,
                      .slices = geometry.compute_slices}}}};
}

}  // namespace

std::vector<PictureRow> rows_of(const GpuLayout& layout, const gpu::MigGeometry& geometry) {
  if (geometry.empty()) return {};
  if (!layout.enabled) return whole(geometry);
  const int unit = unit_of(geometry);
  std::uint64_t usable_memory = 0;
  std::uint64_t usable_compute = 0;
  for (const auto& one : best_filling(layout, geometry)) {
    const auto& place = one.placement;
    usable_memory |= bits(place.start, place.end());
    usable_compute |= bits(place.start, place.start + one.compute.front() * unit);
  }
  std::vector<PictureCell> memory;
  std::vector<PictureCell> compute;
  for (const auto& instance : layout.instances) {
    const auto one = drawn(instance, geometry);
    memory.push_back(memory_cell(one));
    add_compute(one, geometry, compute);
  }
  return {{.name = "memory", .cells = filled(memory, geometry.memory_slices, usable_memory)},
          {.name = "compute",
           .cells = filled(compute, geometry.compute_slices * unit, usable_compute)}};
}

}  // namespace tranche::mig
