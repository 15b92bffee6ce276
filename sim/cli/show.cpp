// tranche-sim show: the machine as it is now.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "fmt/format.h"
#include "sim/cli/cli.h"
#include "sim/cli/cuda_errors.h"
#include "sim/gpu/memory.h"
#include "sim/gpu/mig.h"
#include "sim/gpu/uses.h"
#include "sim/gpu/utilisation.h"
#include "sim/machine/names.h"

namespace tranche::sim {
namespace {

using Json = nlohmann::ordered_json;

std::string presence(const Gpu& gpu) {
  constexpr const char* kWords[] = {"present", "lost", "gone"};
  return kWords[gpu.presence.load() % 3];
}

std::string pci_text(const PciAddress& pci) {
  return fmt::format("{:04X}:{:02X}:{:02X}.0", pci.domain, pci.bus, pci.device);
}

Json instance_or_null(std::uint32_t id) { return id == kNone ? Json() : Json(id); }

// Percent of the GPU: what it declared (occupy), else what its kernels took of the last window.
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
                    {"memoryMiB", live.use->memory.load() >> 20U},
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
  constexpr const char* kKinds[] = {"fail", "slow", "hang"};
  Json list = Json::array();
  for (const Fault& fault : state.faults) {
    if (fault.used.load() == 0) continue;
    list.push_back(
        {{"kind", kKinds[fault.kind % 3]},
         {"function", fault.function},
         {"gpu", instance_or_null(fault.gpu)},
         {"error", std::string_view(fault.function).starts_with("cu") ? cuda_error_name(fault.error)
                                                                      : error_name(fault.error)},
         {"delayMs", fault.delay_us / 1000}});
  }
  return list;
}

void print_gpu(const Json& gpu) {
  fmt::print("  GPU {}: {} ({})\n", gpu["index"].get<int>(), gpu["name"].get<std::string>(),
             gpu["uuid"].get<std::string>());
  fmt::print("    {}, numa {}, {}, {} of {} MiB used\n", gpu["pci"].get<std::string>(),
             gpu["numa"].get<int>(), gpu["state"].get<std::string>(),
             gpu["memoryMiB"]["used"].get<std::uint64_t>(),
             gpu["memoryMiB"]["total"].get<std::uint64_t>());
  for (const Json& mig : gpu["mig"]["devices"]) {
    fmt::print("    MIG {} GI {} CI {} ({})\n", mig["profile"].get<std::string>(),
               mig["gpuInstance"].get<int>(), mig["computeInstance"].get<int>(),
               mig["uuid"].get<std::string>());
  }
  for (const Json& process : gpu["processes"]) {
    fmt::print("    pid {} {} {} MiB {} % {}\n", process["pid"].get<int>(),
               process["kind"].get<std::string>(), process["memoryMiB"].get<std::uint64_t>(),
               process["utilPercent"].get<int>(), process["name"].get<std::string>());
  }
}

void print_table(const Json& machine) {
  fmt::print("{}: driver {}, {}\n  state {}\n", machine["machine"].get<std::string>(),
             machine["driver"].get<std::string>(), machine["init"].get<std::string>(),
             machine["state"].get<std::string>());
  for (const Json& gpu : machine["gpus"]) print_gpu(gpu);
  for (const Json& fault : machine["faults"]) fmt::print("  fault {}\n", fault.dump());
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

std::string render_json(const Simulation& sim) { return machine_json(sim).dump(2); }

void add_show(CLI::App& app, Cli& cli) {
  const auto format = std::make_shared<std::string>("table");
  CLI::App* command = app.add_subcommand("show", "Shows the machine; makes its state if need be");
  command->add_option("-o,--output", *format, "table or json [table]")
      ->check(CLI::IsMember({"table", "json"}));
  command->callback([&cli, format] {
    const auto sim = cli.open();
    if (!sim) return;
    if (*format == "json") {
      fmt::print("{}\n", render_json(*sim));
    } else {
      print_table(machine_json(*sim));
    }
  });
}

}  // namespace tranche::sim
