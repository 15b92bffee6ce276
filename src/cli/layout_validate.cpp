// tranche layout validate: whether a GPU can have these instances, and where they go.

#include <fmt/format.h>

#include <cstdio>

#include "base/exit_code.h"
#include "base/json_value.h"
#include "cli/layout.h"
#include "cli/output.h"
#include "config/programs/layout_options.h"
#include "mig/place.h"

namespace tranche::cli {
namespace {

// "1 compute slice and 2 memory slices"; "" for none.
std::string slices_text(const mig::Stranded& stranded) {
  const auto part = [](int number, std::string_view kind) {
    if (number == 0) return std::string();
    return fmt::format("{} {} {}", number, kind, number == 1 ? "slice" : "slices");
  };
  const auto compute = part(stranded.compute_slices, "compute");
  const auto memory = part(stranded.memory_slices, "memory");
  return compute + (compute.empty() || memory.empty() ? "" : " and ") + memory;
}

int print_valid(const mig::GpuLayout& layout, const gpu::MigGeometry& geometry,
                const config::LayoutOptions& options) {
  const auto stranded = mig::stranded(layout, geometry);
  if (options.output != config::OutputForm::kTable) {
    auto instances = json::Value::array();
    for (const auto& one : layout.instances) {
      instances.push_back({{"profile", geometry.find(one.profile_id)->name},
                           {"profileId", one.profile_id},
                           {"start", one.placement.start},
                           {"size", one.placement.size},
                           {"computeInstances", one.compute}});
    }
    fmt::print("{}", written({{"version", "layout-check/v1"},
                              {"model", options.model},
                              {"valid", true},
                              {"instances", std::move(instances)},
                              {"strandedComputeSlices", stranded.compute_slices},
                              {"strandedMemorySlices", stranded.memory_slices}},
                             options.output));
    return kExitFine;
  }
  fmt::print("valid: {}\n", mig::describe(layout, geometry));
  for (const auto& one : layout.instances) {
    fmt::print("  {} at memory slice {}\n", geometry.find(one.profile_id)->name,
               one.placement.start);
  }
  const auto lost = slices_text(stranded);
  if (!lost.empty()) fmt::print("stranded: {}, which no instance can use\n", lost);
  return kExitFine;
}

int print_invalid(const mig::GpuWish& wish, const gpu::MigGeometry& geometry,
                  const config::LayoutOptions& options) {
  const auto near = mig::nearest(wish, geometry);
  if (options.output != config::OutputForm::kTable) {
    auto list = json::Value::array();
    for (const auto& one : near) list.push_back(one.devices);
    fmt::print("{}", written({{"version", "layout-check/v1"},
                              {"model", options.model},
                              {"valid", false},
                              {"nearest", std::move(list)}},
                             options.output));
    return kExitFinding;
  }
  fmt::print("not valid: {}\nnearest:\n", mig::describe(wish));
  for (const auto& one : near) fmt::print("  {}\n", mig::describe(one));
  return kExitFinding;
}

}  // namespace

int run_layout_validate(const LayoutCall& call) {
  const auto options = config::load_layout_options(call.sources, call.use(), call.arguments);
  if (!options) return refuse(call, options.error().message());
  if (options->model.empty()) return refuse(call, "say which model: --model a100-80gb");
  const auto model = mig_model(options->model);
  if (!model) return end(call, model.error());
  const auto& geometry = (*model)->geometry;
  const mig::GpuWish wish{.enabled = true, .devices = options->devices};
  const auto wished = mig::instances_of(wish, geometry);
  if (!wished) return refuse(call, wished.error().message());
  const auto layout = mig::place(*wished, geometry);
  return layout ? print_valid(*layout, geometry, *options)
                : print_invalid(wish, geometry, *options);
}

}  // namespace tranche::cli
