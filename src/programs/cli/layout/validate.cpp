// tranche layout validate: whether a GPU can have these instances, and where.

#include <fmt/format.h>

#include <cstdio>

#include "base/exit_code.h"
#include "cli/layout/gpus.h"
#include "cli/layout/print.h"
#include "cli/layout/words.h"
#include "cli/shell/output.h"
#include "mig/place.h"

namespace tranche::cli {
namespace {

using Output = config::LayoutOptions::Output;

int print_valid(const LayoutCall& call, const config::LayoutOptions& options,
                const PlannedGpu& model, const mig::GpuLayout& layout) {
  const auto document =
      with_layout({{"version", "layout-check/v1"}, {"model", model.name}, {"valid", true}}, layout,
                  model.geometry);
  return print(call, options, {{model.name, layout, model.geometry}}, document, "", kExitFine);
}

int print_invalid(const config::LayoutOptions& options, const PlannedGpu& model,
                  const mig::GpuWish& wish, const std::string& why) {
  const auto near = mig::nearest(wish, model.geometry);
  if (options.output == Output::kJson || options.output == Output::kYaml) {
    auto list = json::Value::array();
    for (const auto& one : near) list.push_back(one.devices);
    const json::Value document = {{"version", "layout-check/v1"},
                                  {"model", model.name},
                                  {"valid", false},
                                  {"why", why},
                                  {"nearest", std::move(list)}};
    fmt::print("{}", written(document, form_of(options.output)));
    return kExitFinding;
  }
  fmt::print("{} cannot have {}: {}\n", model.name, mig::describe(wish), why);
  if (!near.empty()) fmt::print("It can have, nearest first:\n");
  for (const auto& one : near) fmt::print("  {}\n", mig::describe(one));
  return kExitFinding;
}

}  // namespace

int run_layout_validate(const LayoutCall& call) {
  const auto options = config::load_layout_options(call.sources, call.use(), call.arguments);
  if (!options) return refuse(call, options.error().message());
  if (call.arguments.empty()) return refuse(call, "say which instances: 3g.40gb=1 1g.10gb=4");
  const auto model = planned_gpu(*options);
  if (!model) return end(call, model.error());
  const auto& geometry = model->geometry;
  const mig::GpuWish wish{.enabled = true, .devices = options->devices};
  const auto wished = mig::instances_of(wish, geometry);
  if (!wished) return refuse(call, wished.error().message());
  const auto layout = mig::place(*wished, geometry);
  return layout ? print_valid(call, *options, *model, *layout)
                : print_invalid(*options, *model, wish, mig::why_not(*wished, geometry));
}

}  // namespace tranche::cli
