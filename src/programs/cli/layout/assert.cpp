// tranche layout assert: whether this machine's GPUs have a layout.

#include <fmt/format.h>

#include "base/exit_code.h"
#include "cli/layout/machine.h"
#include "cli/layout/words.h"
#include "mig/change.h"
#include "mig/target.h"

namespace tranche::cli {
namespace {

using Wishes = std::map<gpu::GpuUuid, mig::GpuWish>;

// "" if the GPU has the wished layout, else what it has and should have.
std::string difference(const gpu::Gpu& gpu, const mig::GpuWish& wish, const mig::GpuLayout& has,
                       bool mode_only) {
  const auto differs = [&](const std::string& wanted) {
    return fmt::format("GPU {} ({}) has {}, and not {}\n", gpu.index, gpu.name,
                       describe(has, gpu.mig_geometry), wanted);
  };
  if (wish.enabled != has.enabled || has.waits) {
    return differs(mode_only && wish.enabled ? "MIG on" : describe(wish));
  }
  if (mode_only) return "";
  const auto target = mig::target_of({{gpu.uuid, wish}}, {.gpus = {gpu}}, {{gpu.uuid, has}});
  if (!target) return differs(fmt::format("{} ({})", describe(wish), target.error().message()));
  const auto change =
      mig::make_change({{gpu.uuid, has}}, *target, [](const auto&) { return false; });
  return change && change->steps.empty() ? "" : differs(describe(wish));
}

int compare(const LayoutCall& call, LayoutMachine& machine, const Wishes& wishes, bool mode_only) {
  const auto present = machine.present();
  if (!present) return end(call, present.error());
  std::string differences;
  for (const auto& gpu : machine.machine().gpus) {
    const auto wish = wishes.find(gpu.uuid);
    if (wish == wishes.end()) continue;
    differences += difference(gpu, wish->second, present->at(gpu.uuid), mode_only);
  }
  fmt::print("{}{}\n", differences, differences.empty() ? "it is applied" : "it is not applied");
  return differences.empty() ? kExitFine : kExitFinding;
}

int validate(const LayoutCall& call, const config::LayoutFileOptions& options) {
  const auto chosen = choose_layout(options, nullptr);
  if (!chosen) return end(call, chosen.error());
  fmt::print("the file is valid and has {}\n", chosen->name);
  return kExitFine;
}

}  // namespace

int run_layout_assert(const LayoutCall& call) {
  if (!call.arguments.empty()) {
    return refuse(call, fmt::format("unexpected argument '{}'", call.arguments[0].substr(0, 80)));
  }
  const auto options = config::load_layout_file_options(call.sources, call.use());
  if (!options) return refuse(call, options.error().message());
  if (options->valid_only) return validate(call, *options);
  auto machine = LayoutMachine::open(*options);
  if (!machine) return end(call, machine.error());
  const auto chosen = choose_layout(*options, &machine->machine());
  if (!chosen) return end(call, chosen.error());
  const auto wishes = mig::wishes_of(chosen->file, chosen->name, machine->machine());
  if (!wishes) return end(call, wishes.error());
  return compare(call, *machine, *wishes, options->mode_only);
}

}  // namespace tranche::cli
