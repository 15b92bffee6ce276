// tranche layout show: the instances of this machine's GPUs.

#include <fmt/format.h>

#include <cstdio>

#include "base/exit_code.h"
#include "base/log.h"
#include "cli/layout/gpus.h"
#include "cli/layout/print.h"
#include "cli/layout/words.h"
#include "mig/parted.h"
#include "nvml/mig_control.h"
#include "nvml/reader.h"

namespace tranche::cli {
namespace {

struct Shown {
  std::vector<mig::PicturedGpu> gpus;
  json::Value list = json::Value::array();
  std::string notes;
};

std::string title(const gpu::Gpu& gpu) {
  return fmt::format("GPU {}: {}, {}", gpu.index, gpu.name, gpu.uuid.value);
}

void add(const gpu::Gpu& gpu, const gpu::MigState& state, Shown& shown) {
  const auto geometry = geometry_of(gpu);
  const auto layout = mig::layout_of(state);
  shown.list.push_back(with_layout(
      {{"index", gpu.index}, {"name", gpu.name}, {"uuid", gpu.uuid.value}}, layout, geometry));
  shown.gpus.push_back({title(gpu), layout, geometry});
  if (state.pending != state.enabled) {
    shown.notes += fmt::format("GPU {}: MIG goes {} at the next reset of the GPU\n", gpu.index,
                               state.pending ? "on" : "off");
  }
}

// Reads the GPU; marks one without MIG, and an unreadable one.
void show(const gpu::Gpu& gpu, gpu::MigControl& control, Shown& shown) {
  if (!mig::has_mig(gpu)) return add(gpu, {}, shown);
  const auto state = control.read(gpu.uuid);
  if (state) return add(gpu, *state, shown);
  shown.list.push_back({{"index", gpu.index},
                        {"name", gpu.name},
                        {"uuid", gpu.uuid.value},
                        {"error", state.error().message()}});
  shown.notes += fmt::format("{}: {}\n", title(gpu), state.error().message());
}

}  // namespace

int run_layout_show(const LayoutCall& call) {
  if (!call.arguments.empty()) {
    return refuse(call, fmt::format("unexpected argument '{}'", call.arguments[0]));
  }
  const auto options = config::load_layout_options(call.sources, call.use(), {});
  if (!options) return refuse(call, options.error().message());
  if (!options->node.empty() || !options->snapshot.empty())
    return run_layout_show_of_node(call, *options);
  const Log log(LogLevel::kWarn);
  const auto connection = nvml::Connection::make(
      {.driver_root = options->driver_root, .host = FsRoot(options->host_root), .log = &log});
  const auto machine = nvml::Reader(connection).read();
  if (!machine) return end(call, machine.error());
  nvml::MigControl control(connection);
  Shown shown;
  for (const auto& gpu : machine->gpus) show(gpu, control, shown);
  if (machine->gpus.empty()) shown.notes = "this machine has no GPUs\n";
  const bool all_read = shown.gpus.size() == machine->gpus.size();
  return print(call, *options, shown.gpus, {{"version", "layout-show/v1"}, {"gpus", shown.list}},
               shown.notes, all_read ? kExitFine : kExitFinding);
}

}  // namespace tranche::cli
