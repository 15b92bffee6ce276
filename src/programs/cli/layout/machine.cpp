#include "cli/layout/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "cli/shell/input_text.h"
#include "host/device_holders.h"
#include "host/holder_names.h"
#include "nvml/process_reader.h"
#include "nvml/reader.h"

namespace tranche::cli {
namespace {

constexpr std::size_t kLongestInput = std::size_t{1} << 20U;

// The kernel cuts names to 15 characters, and a program started by descriptor has none.
bool is_mps_server(const host::DeviceHolder& holder) {
  return holder.name == "nvidia-cuda-mps" || holder.command.starts_with("nvidia-cuda-mps-server");
}

Result<mig::PartedFile> layouts_of(const config::LayoutFileOptions& options,
                                   const gpu::Machine* machine) {
  if (!options.file.empty()) {
    ASSIGN_OR_RETURN(const auto text, input_text(options.file, kLongestInput));
    auto file = mig::parse_parted(text, options.file == "-" ? "stdin" : options.file);
    if (!file) return file;
    for (const auto& warning : file->warnings) fmt::print(stderr, "tranche layout: {}\n", warning);
    return file;
  }
  if (machine != nullptr) return mig::default_layouts(*machine);
  return fail(Code::kInvalidArgument, "no file is named", "write --config-file FILE");
}

// Without MIG the hint about default layouts would mislead.
Result<void> check_any_mig(const gpu::Machine& machine) {
  if (machine.gpus.empty() || std::ranges::any_of(machine.gpus, mig::has_mig)) return {};
  return std::unexpected(mig::without_mig(machine.gpus[0], Code::kUnsupported));
}

}  // namespace

Result<LayoutMachine> LayoutMachine::open(const config::LayoutFileOptions& options) {
  const FsRoot host(options.host_root);
  auto connection =
      nvml::Connection::make({.driver_root = options.driver_root, .host = host, .log = nullptr});
  ASSIGN_OR_RETURN(auto machine, nvml::Reader(connection).read());
  return LayoutMachine(std::move(connection), std::move(machine), host);
}

Result<mig::Layout> LayoutMachine::present() {
  mig::Layout layout;
  for (const auto& gpu : machine_.gpus) {
    if (!mig::has_mig(gpu)) continue;
    ASSIGN_OR_RETURN(const auto state, control_->read(gpu.uuid));
    layout.emplace(gpu.uuid, mig::layout_of(state));
  }
  return layout;
}

Result<std::vector<std::string>> LayoutMachine::users_of(const std::vector<std::string>& uuids,
                                                         bool with_mps) const {
  nvml::ProcessReader reader(connection_);
  ASSIGN_OR_RETURN(const auto devices, reader.read(uuids));
  std::set<pid_t> pids;
  for (const auto& device : devices) {
    // A device that was just removed has no users.
    if (!device.processes && device.processes.error().code == Code::kNotFound) continue;
    if (!device.processes) return std::unexpected(device.processes.error());
    for (const auto& process : *device.processes) pids.insert(process.pid);
  }
  std::vector<std::string> names;
  for (const auto pid : pids) {
    const auto holder = host::read_holder(host_, pid);
    if (!with_mps && holder && is_mps_server(*holder)) continue;
    names.push_back(holder ? host::describe(*holder, {}) : fmt::format("pid {}", pid));
  }
  return names;
}

Result<ChosenLayout> choose_layout(const config::LayoutFileOptions& options,
                                   const gpu::Machine* machine) {
  ASSIGN_OR_RETURN(auto file, layouts_of(options, machine));
  ChosenLayout chosen{.file = std::move(file), .name = options.layout};
  const auto& configs = chosen.file.configs;
  if (chosen.name.empty() && configs.size() != 1) {
    std::vector<std::string_view> names;
    for (const auto& [name, entries] : configs) names.push_back(name);
    return fail(Code::kInvalidArgument, fmt::format("there are {} layouts", configs.size()),
                fmt::format("choose one by --selected-config: {}", fmt::join(names, ", ")));
  }
  if (chosen.name.empty()) chosen.name = configs.begin()->first;
  if (configs.contains(chosen.name)) return chosen;
  if (options.file.empty()) TRY(check_any_mig(*machine));
  // The hint names the existing ones.
  auto missing = mig::wishes_of(chosen.file, chosen.name, {}).error();
  missing.code = Code::kInvalidArgument;
  return std::unexpected(std::move(missing));
}

}  // namespace tranche::cli
