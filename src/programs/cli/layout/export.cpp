// tranche layout export and defaults: the GPUs' layout, and possible layouts, as files of
// mig-parted.

#include <fmt/format.h>

#include "base/exit_code.h"
#include "cli/layout/machine.h"
#include "cli/layout/words.h"

namespace tranche::cli {
namespace {

void print(const mig::PartedFile& file, config::OutputForm form) {
  fmt::print("{}", form == config::OutputForm::kJson ? mig::to_json(file).lines() + "\n"
                                                     : mig::to_yaml(file));
}

// The file has the layout in force, which a reset changes.
void tell_of_waiting(const gpu::Machine& machine, const mig::Layout& layout) {
  for (const auto& gpu : machine.gpus) {
    const auto has = layout.find(gpu.uuid);
    if (has == layout.end() || !has->second.waits) continue;
    fmt::print(stderr,
               "tranche layout export: MIG mode {} of GPU {} waits for a reset, and is not in the "
               "file\n",
               has->second.mode_to_come() ? "on" : "off", gpu.index);
  }
}

// `make`: makes the machine's file.
template <class Make>
int print_file(const LayoutCall& call, Make make) {
  if (!call.arguments.empty()) {
    return refuse(call, fmt::format("unexpected argument '{}'", call.arguments[0].substr(0, 80)));
  }
  const auto options = config::load_layout_file_options(call.sources, call.use());
  if (!options) return refuse(call, options.error().message());
  auto machine = LayoutMachine::open(*options);
  if (!machine) return end(call, machine.error());
  const Result<mig::PartedFile> file = make(*machine, *options);
  if (!file) return end(call, file.error());
  print(*file, options->output);
  return kExitFine;
}

}  // namespace

int run_layout_export(const LayoutCall& call) {
  return print_file(call,
                    [](LayoutMachine& machine,
                       const config::LayoutFileOptions& options) -> Result<mig::PartedFile> {
                      ASSIGN_OR_RETURN(const auto layout, machine.present());
                      tell_of_waiting(machine.machine(), layout);
                      return mig::exported(machine.machine(), layout, options.label);
                    });
}

int run_layout_defaults(const LayoutCall& call) {
  return print_file(
      call,
      [](LayoutMachine& machine, const config::LayoutFileOptions&) -> Result<mig::PartedFile> {
        return mig::default_layouts(machine.machine());
      });
}

}  // namespace tranche::cli
