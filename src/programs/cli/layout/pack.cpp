// tranche layout pack: packs instances on as few GPUs of a model as possible.

#include "mig/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/exit_code.h"
#include "cli/layout/gpus.h"
#include "cli/layout/print.h"
#include "cli/layout/words.h"
#include "mig/parted.h"

namespace tranche::cli {
namespace {

// "GPU 0", "GPUs 2 to 5"
std::string gpus_text(std::size_t first, std::size_t count) {
  return count == 1 ? fmt::format("GPU {}", first)
                    : fmt::format("GPUs {} to {}", first, first + count - 1);
}

std::vector<mig::PicturedGpu> pictured(const mig::Packing& packing,
                                       const gpu::MigGeometry& geometry) {
  std::vector<mig::PicturedGpu> gpus;
  std::size_t first = 0;
  for (const auto& alike : packing.layouts) {
    gpus.push_back({gpus_text(first, alike.gpus), alike.layout, geometry});
    first += alike.gpus;
  }
  return gpus;
}

json::Value document(const mig::Packing& packing, const PlannedGpu& model) {
  auto layouts = json::Value::array();
  for (const auto& alike : packing.layouts) {
    json::Value one = {{"gpus", alike.gpus},
                       {"devices", mig::devices_of(alike.layout, model.geometry)}};
    layouts.push_back(with_layout(std::move(one), alike.layout, model.geometry));
  }
  return {{"version", "layout-pack/v1"},
          {"model", model.name},
          {"gpus", packing.gpus()},
          {"fewest", packing.fewest},
          {"layouts", std::move(layouts)}};
}

// GPUs count from 0; empty ones are not named, so they stay as they are.
std::string parted(const mig::Packing& packing, const gpu::MigGeometry& geometry) {
  mig::PartedFile file;
  auto& entries = file.configs["packed"];
  int first = 0;
  for (const auto& alike : packing.layouts) {
    mig::PartedEntry entry{.devices = std::vector<int>(), .wish = {}};
    for (std::size_t i = 0; i < alike.gpus; ++i) entry.devices->push_back(first++);
    entry.wish.devices = mig::devices_of(alike.layout, geometry);
    entries.push_back(std::move(entry));
  }
  return mig::to_yaml(file);
}

std::string summary(const mig::Packing& packing, int there) {
  const auto needed = packing.gpus();
  auto text = fmt::format("\n{} GPU{}: {}.\n", needed, needed == 1 ? "" : "s",
                          packing.fewest ? "no fewer can hold them"
                                         : "perhaps fewer can hold them; all ways were not tried");
  if (there > 0 && static_cast<std::size_t>(there) > needed) {
    text +=
        fmt::format("{} of {} GPUs stay free.\n", static_cast<std::size_t>(there) - needed, there);
  }
  return text;
}

int print_packing(const LayoutCall& call, const config::LayoutOptions& options,
                  const PlannedGpu& model, const mig::Packing& packing) {
  const bool too_few = options.gpus > 0 && packing.gpus() > static_cast<std::size_t>(options.gpus);
  if (too_few) {
    fmt::print(
        stderr, "{} {}: {} not hold them; {} would\n", call.invocation.program, call.word.name,
        options.gpus == 1 ? "1 GPU does" : fmt::format("{} GPUs do", options.gpus), packing.gpus());
  }
  if (options.output == config::LayoutOptions::Output::kParted) {
    if (too_few) return kExitFinding;
    fmt::print("{}", parted(packing, model.geometry));
    return kExitFine;
  }
  return print(call, options, pictured(packing, model.geometry), document(packing, model),
               summary(packing, options.gpus), too_few ? kExitFinding : kExitFine);
}

}  // namespace

int run_layout_pack(const LayoutCall& call) {
  const auto options = config::load_layout_options(call.sources, call.use(), call.arguments);
  if (!options) return refuse(call, options.error().message());
  if (call.arguments.empty()) return refuse(call, "say which instances: 3g.40gb=4 1g.10gb=8");
  const auto model = planned_gpu(*options);
  if (!model) return end(call, model.error());
  if (std::ranges::all_of(options->devices, [](const auto& one) { return one.second == 0; })) {
    return refuse(call, "nothing is to be packed: all numbers are 0");
  }
  const auto packing = mig::pack({.enabled = true, .devices = options->devices}, model->geometry);
  if (!packing) return refuse(call, packing.error().message());
  return print_packing(call, *options, *model, *packing);
}

}  // namespace tranche::cli
