// What planning MIG layouts costs. Bound (docs/mig.md): a plan for 8 GPUs 1 ms.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "gpu/mig_tables.h"
#include "mig/change.h"
#include "mig/place.h"

namespace tranche::mig {
namespace {

const gpu::MigGeometry& geometry_of(std::string_view key) {
  return gpu::find_mig_model(key)->geometry;
}

// One GPU's way from `from` to a layout that meets `to`.
GpuLayout placed(const std::map<std::string, int>& devices, const gpu::MigGeometry& geometry,
                 const Keeping& keeping = {}) {
  const auto wish = instances_of({.enabled = true, .devices = devices}, geometry);
  return place(*wish, geometry, keeping).value();
}

// From seven small instances, all held, to the wish, on 8 GPUs.
void plan(benchmark::State& state, std::string_view model, const std::map<std::string, int>& before,
          const std::map<std::string, int>& after) {
  const auto& geometry = geometry_of(model);
  Layout from;
  for (int i = 0; i < 8; ++i) from[{fmt::format("GPU-{}", i)}] = placed(before, geometry);
  for (auto _ : state) {
    Layout to;
    for (const auto& [gpu, layout] : from) {
      const std::vector<bool> held(layout.instances.size(), true);
      to[gpu] = placed(after, geometry, {.present = layout.instances, .held = held});
    }
    benchmark::DoNotOptimize(make_change(from, to, [](const gpu::GpuUuid&) { return false; }));
  }
}
BENCHMARK_CAPTURE(plan, a100_balanced, "a100-80gb", {{"1g.10gb", 7}},
                  {{"3g.40gb", 1}, {"2g.20gb", 1}, {"1g.10gb", 2}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(plan, a100_small, "a100-80gb", {{"3g.40gb", 2}},
                  {{"1g.10gb+me", 1}, {"1g.20gb", 1}, {"1g.10gb", 4}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(plan, rtx_pro_6000, "rtx-pro-6000-96gb", {{"2g.48gb", 2}},
                  {{"1g.24gb", 1}, {"1g.24gb+gfx", 1}, {"1g.24gb-me", 1}, {"1g.24gb+me", 1}})
    ->Unit(benchmark::kMicrosecond);

void nearest_of_what_cannot_be(benchmark::State& state) {
  const auto& geometry = geometry_of("a100-80gb");
  const GpuWish wish{.devices = {{"4g.40gb", 1}, {"2g.20gb", 1}, {"1g.10gb", 2}}};
  for (auto _ : state) benchmark::DoNotOptimize(nearest(wish, geometry));
}
BENCHMARK(nearest_of_what_cannot_be)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tranche::mig
