// tranche-sim show: the machine as it is now.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "base/json_fields.h"
#include "base/json_value.h"
#include "base/json_yaml.h"
#include "fmt/format.h"
#include "sim/cli/cli.h"
#include "sim/cli/cuda_errors.h"
#include "sim/gpu/memory.h"
#include "sim/gpu/mig.h"
#include "sim/gpu/shared_memory.h"
#include "sim/gpu/utilisation.h"
#include "sim/machine/names.h"

namespace tranche::sim {
namespace {

using Json = json::Value;

std::string presence(const Gpu& gpu) {
  constexpr const char* kWords[] = {"present", "lost", "gone"};
  return kWords[gpu.presence.load() % 3];
}

std::string pci_text(const PciAddress& pci) {
  return fmt::format("{:04X}:{:02X}:{:02X}.0", pci.domain, pci.bus, pci.device);
}

Json instance_or_null(std::uint32_t id) { return id == kNone ? Json() : Json(id); }

// Percent of the GPU: the declared load (occupy), else the kernels' time in the last window.
std::uint32_t util_percent(const LiveUse& live, const WindowLoad& load) {
  if (const auto declared = live.use->declared_permille.load(); declared > 0) return declared / 10;
  const auto found = std::ranges::find(load.processes, live.pid, &ProcessLoad::pid);
  return found == load.processes.end() ? 0 : found->permille / 10;
}

std::string kind_name(const Use& use) {
  constexpr const char* kWords[] = {"compute", "graphics", "mps"};
  return kWords[use.kind % 3];
}

Json processes(const Simulation& sim, std::uint32_t gpu) {
  Json list = Json::array();
  const WindowLoad load = window_load(sim, gpu, last_window(sim, gpu));
  for (const LiveUse& live : live_uses(sim, gpu)) {
    list.push_back({{"pid", live.pid},
                    {"name", live.process->name},
                    {"kind", kind_name(*live.use)},
                    {"memoryMiB", memory_of(sim, live) >> 20U},
                    {"utilPercent", util_percent(live, load)},
                    {"gpuInstance", instance_or_null(live.use->gpu_instance)},
                    {"computeInstance", instance_or_null(live.use->compute_instance)}});
  }
  return list;
}

Json gpu_json(const Simulation& sim, std::uint32_t index) {
  const State& state = sim.state();
  const Gpu& gpu = state.gpus[index];
  const Model& model = state.models[gpu.model];
  const MemoryUse memory = memory_use(sim, index, kNone);
  Json migs = Json::array();
  for (const MigDevice device : mig_devices(gpu)) {
    migs.push_back({{"uuid", mig_uuid(gpu, device)},
                    {"profile", mig_profile_name(state, gpu, device)},
                    {"gpuInstance", device.gpu_instance},
                    {"computeInstance", device.compute_instance},
                    {"start", gpu.instances[device.gpu_instance].start}});
  }
  return {{"index", index},
          {"uuid", gpu.uuid},
          {"name", model.name},
          {"pci", pci_text(gpu.pci)},
          {"minor", gpu.minor},
          {"numa", gpu.numa},
          {"state", presence(gpu)},
          {"recoveryAction", recovery_action_name(gpu.recovery_action.load())},
          {"lastXid", gpu.last_xid.load()},
          {"memoryMiB",
           {{"total", memory.total >> 20U},
            {"reserved", memory.reserved >> 20U},
            {"used", memory.used >> 20U}}},
          {"mig",
           {{"capable", model.profile_count > 0},
            {"current", gpu.mig_current.load() != 0},
            {"pending", gpu.mig_pending.load() != 0},
            {"devices", migs}}},
          {"processes", processes(sim, index)}};
}

Json fault_json(const State& state) {
  constexpr const char* kKinds[] = {"fail", "slow", "hang", "fail-done"};
  Json list = Json::array();
  for (const Fault& fault : state.faults) {
    if (fault.used.load() == 0) continue;
    list.push_back(
        {{"kind", kKinds[fault.kind % 4]},
         {"function", fault.function},
         {"gpu", instance_or_null(fault.gpu)},
         {"error", std::string_view(fault.function).starts_with("cu") ? cuda_error_name(fault.error)
                                                                      : error_name(fault.error)},
         {"delayMs", fault.delay_us / 1000}});
  }
  return list;
}

void print_gpu(const json::Fields& gpu) {
  const auto memory = gpu.object("memoryMiB");
  fmt::print("  GPU {}: {} ({})\n", gpu.number("index"), gpu.text("name"), gpu.text("uuid"));
  fmt::print("    {}, numa {}, {}, {} of {} MiB used\n", gpu.text("pci"), gpu.number("numa"),
             gpu.text("state"), memory.number("used"), memory.number("total"));
  for (const auto& mig : gpu.object("mig").list("devices")) {
    fmt::print("    MIG {} GI {} CI {} ({})\n", mig.text("profile"), mig.number("gpuInstance"),
               mig.number("computeInstance"), mig.text("uuid"));
  }
  for (const auto& process : gpu.list("processes")) {
    fmt::print("    pid {} {} {} MiB {} % {}\n", process.number("pid"), process.text("kind"),
               process.number("memoryMiB"), process.number("utilPercent"), process.text("name"));
  }
}

void print_table(const json::Fields& machine) {
  fmt::print("{}: driver {}, {}\n  state {}\n", machine.text("machine"), machine.text("driver"),
             machine.text("init"), machine.text("state"));
  for (const auto& gpu : machine.list("gpus")) print_gpu(gpu);
  for (const auto& fault : machine.list("faults")) fmt::print("  fault {}\n", fault.view().text());
}

Json machine_json(const Simulation& sim) {
  const State& state = sim.state();
  Json gpus = Json::array();
  for (std::uint32_t i = 0; i < state.gpu_count; ++i) gpus.push_back(gpu_json(sim, i));
  return {{"machine", state.machine},
          {"state", sim.path()},
          {"product", state.product},
          {"driver", state.driver_version},
          {"init", error_name(state.init_error.load())},
          {"gpus", gpus},
          {"faults", fault_json(state)}};
}

}  // namespace

std::string render_json(const Simulation& sim) { return machine_json(sim).lines(); }

void add_show(CLI::App& app, Cli& cli) {
  const auto format = std::make_shared<std::string>("table");
  CLI::App* command = app.add_subcommand("show", "Shows the machine; makes its state if need be");
  command->add_option("-o,--output", *format, "table, json or yaml [table]")
      ->check(CLI::IsMember({"table", "json", "yaml"}));
  command->callback([&cli, format] {
    const auto sim = cli.open();
    if (!sim) return;
    if (*format == "json") {
      fmt::print("{}\n", render_json(*sim));
    } else if (*format == "yaml") {
      fmt::print("{}", json::to_yaml(render_json(*sim)));
    } else {
      const auto text = machine_json(*sim).text();
      std::optional<Error> error;
      print_table({json::parse(text).value_or(json::View()), "", error});
    }
  });
}

}  // namespace tranche::sim
