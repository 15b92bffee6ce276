// tranche-sim fault, xid, clear, reset: what goes wrong, and how it is put right.

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <optional>

#include "fmt/format.h"
#include "sim/cli/cli.h"
#include "sim/cli/cuda_errors.h"
#include "sim/gpu/mig.h"
#include "sim/gpu/topology.h"
#include "sim/machine/names.h"
#include "sim/state/faults.h"

namespace tranche::sim {
namespace {

constexpr std::uint64_t kXidEvent = 0x8;
constexpr std::uint64_t kLayoutEvent = 0x100;
constexpr std::uint64_t kXidFellOffTheBus = 79;

struct Wish {
  std::string gpu;
  std::string function = "*";
  std::string error = "UNKNOWN";
  std::string action = "none";
  std::uint64_t delay_ms = 0;
  std::uint64_t xid = 0;
  std::uint32_t gpu_instance = kNone;
  std::uint32_t compute_instance = kNone;
  bool quiet = false;
  bool reboot = false;
  bool done = false;
  bool remap_failed = false;
  std::optional<std::uint32_t> correctable;
  std::optional<std::uint32_t> uncorrectable;
  std::uint32_t replays = 0;
  std::int64_t after = 0;
  std::int64_t times = -1;
};

using Step = Result<void> (*)(const Simulation&, const Wish&);

// A command that opens the machine and takes one step.
CLI::App* add_command(CLI::App& parent, Cli& cli, const char* name, const char* help,
                      const std::shared_ptr<Wish>& wish, Step step) {
  CLI::App* command = parent.add_subcommand(name, help);
  command->callback([&cli, wish, step] {
    if (const auto sim = cli.open()) cli.report(step(*sim, *wish));
  });
  return command;
}

void take_gpu(CLI::App& command, Wish& wish, bool required) {
  auto* option = command.add_option(
      "--gpu", wish.gpu,
      required ? "GPU: index, UUID or PCI address" : "Only this GPU: index, UUID or PCI address");
  if (required) option->required();
}

void take_function(CLI::App& command, Wish& wish) {
  command.add_option("--function", wish.function,
                     "Function, for example nvmlDeviceGetMemoryInfo or cuMemAlloc; * for all of "
                     "NVML, cu* for all of CUDA");
}

void take_calls(CLI::App& command, Wish& wish) {
  command.add_option("--after", wish.after, "So many calls go through first [0]");
  command.add_option("--times", wish.times, "So many calls are struck [all]");
}

Result<std::uint32_t> gpu_or_none(const Simulation& sim, const Wish& wish) {
  if (wish.gpu.empty()) return kNone;
  return find_gpu(sim.state(), wish.gpu);
}

Result<void> add(const Simulation& sim, const Wish& wish, FaultKind kind, std::uint32_t error) {
  ASSIGN_OR_RETURN(const std::uint32_t gpu, gpu_or_none(sim, wish));
  return add_fault(sim, {.kind = kind,
                         .function = wish.function,
                         .gpu = gpu,
                         .error = error,
                         .delay_us = wish.delay_ms * 1000,
                         .passing = wish.after,
                         .strikes = wish.times});
}

Result<void> fail_calls(const Simulation& sim, const Wish& wish) {
  const bool is_cuda = wish.function.starts_with("cu");
  const auto error = is_cuda ? parse_cuda_error(wish.error) : parse_error(wish.error);
  if (!error) {
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' is no {} error", wish.error, is_cuda ? "CUDA" : "NVML"),
                is_cuda ? "write for example OUT_OF_MEMORY, LAUNCH_FAILED or 999"
                        : "write for example GPU_IS_LOST, TIMEOUT or 999");
  }
  return add(sim, wish, wish.done ? FaultKind::kFailDone : FaultKind::kFail, *error);
}

Result<void> slow_calls(const Simulation& sim, const Wish& wish) {
  return add(sim, wish, FaultKind::kDelay, 0);
}

Result<void> hang_calls(const Simulation& sim, const Wish& wish) {
  return add(sim, wish, FaultKind::kHang, 0);
}

// As hardware does it: the kernel reports XID 79, and the GPU wants the node rebooted.
Result<void> lose_gpu(const Simulation& sim, const Wish& wish) {
  ASSIGN_OR_RETURN(const std::uint32_t gpu, find_gpu(sim.state(), wish.gpu));
  set_presence(sim, gpu, Presence::kLost);
  if (wish.quiet) return {};
  sim.state().gpus[gpu].last_xid.store(kXidFellOffTheBus);
  post_event(sim, {.type = kXidEvent, .data = kXidFellOffTheBus, .gpu = gpu});
  return {};
}

Result<void> remove_gpu(const Simulation& sim, const Wish& wish) {
  ASSIGN_OR_RETURN(const std::uint32_t gpu, find_gpu(sim.state(), wish.gpu));
  set_presence(sim, gpu, Presence::kGone);
  return {};
}

Result<void> cut_links(const Simulation& sim, const Wish& wish) {
  ASSIGN_OR_RETURN(const std::uint32_t gpu, find_gpu(sim.state(), wish.gpu));
  set_links_up(sim.state().gpus[gpu], false);
  return {};
}

Result<void> remap_rows(const Simulation& sim, const Wish& wish) {
  ASSIGN_OR_RETURN(const std::uint32_t index, find_gpu(sim.state(), wish.gpu));
  Gpu& gpu = sim.state().gpus[index];
  if (wish.correctable) gpu.remapped_correctable.store(*wish.correctable);
  if (wish.uncorrectable) gpu.remapped_uncorrectable.store(*wish.uncorrectable);
  if (wish.remap_failed) gpu.remap_failed.store(1);
  return {};
}

Result<void> replay(const Simulation& sim, const Wish& wish) {
  ASSIGN_OR_RETURN(const std::uint32_t gpu, find_gpu(sim.state(), wish.gpu));
  sim.state().gpus[gpu].pcie_replays.fetch_add(wish.replays);
  return {};
}

Result<void> return_gpu(const Simulation& sim, const Wish& wish) {
  ASSIGN_OR_RETURN(const std::uint32_t gpu, find_gpu(sim.state(), wish.gpu));
  set_presence(sim, gpu, Presence::kPresent);
  sim.state().gpus[gpu].recovery_action.store(0);
  return {};
}

Result<void> lose_driver(const Simulation& sim, const Wish& wish) {
  const auto error = parse_error(wish.error);
  if (!error || *error == 0) {
    return fail(Code::kInvalidArgument, fmt::format("'{}' is no NVML error", wish.error),
                "write for example DRIVER_NOT_LOADED or LIB_RM_VERSION_MISMATCH");
  }
  sim.state().init_error.store(*error);
  return {};
}

Result<void> return_driver(const Simulation& sim, const Wish&) {
  sim.state().init_error.store(0);
  return {};
}

Result<void> want_recovery(const Simulation& sim, const Wish& wish) {
  ASSIGN_OR_RETURN(const std::uint32_t gpu, find_gpu(sim.state(), wish.gpu));
  const auto action = parse_recovery_action(wish.action);
  if (!action) {
    return fail(Code::kInvalidArgument, fmt::format("'{}' is no recovery action", wish.action),
                "one of none, gpu-reset, node-reboot, drain-p2p, drain-and-reset");
  }
  sim.state().gpus[gpu].recovery_action.store(*action);
  return {};
}

Result<void> raise_xid(const Simulation& sim, const Wish& wish) {
  ASSIGN_OR_RETURN(const std::uint32_t gpu, find_gpu(sim.state(), wish.gpu));
  if (wish.compute_instance != kNone && wish.gpu_instance == kNone) {
    return fail(Code::kInvalidArgument, "--compute-instance needs --gpu-instance");
  }
  sim.state().gpus[gpu].last_xid.store(static_cast<std::uint32_t>(wish.xid));
  post_event(sim, {.type = kXidEvent,
                   .data = wish.xid,
                   .gpu = gpu,
                   .gpu_instance = wish.gpu_instance,
                   .compute_instance = wish.compute_instance});
  return {};
}

void clear_counters(Gpu& gpu) {
  for (auto* counter : {&gpu.remapped_correctable, &gpu.remapped_uncorrectable, &gpu.remap_failed,
                        &gpu.pcie_replays}) {
    counter->store(0);
  }
}

// Faults go, GPUs and driver are as the machine file has them. MIG and processes stay.
Result<void> clear(const Simulation& sim, const Wish&) {
  State& state = sim.state();
  for (std::uint32_t gpu = 0; gpu < state.gpu_count; ++gpu) {
    set_presence(sim, gpu, Presence::kPresent);
    state.gpus[gpu].recovery_action.store(0);
    state.gpus[gpu].last_xid.store(0);
    clear_counters(state.gpus[gpu]);
    set_links_up(state.gpus[gpu], true);
  }
  state.init_error.store(state.yaml_init_error);
  clear_faults(sim);
  return {};
}

Result<void> reset(const Simulation& sim, const Wish& wish) {
  State& state = sim.state();
  const Simulation::Guard guard(state);
  for (std::uint32_t gpu = 0; gpu < state.gpu_count; ++gpu) {
    if (!wish.reboot && !wish.gpu.empty()) {
      ASSIGN_OR_RETURN(const std::uint32_t wanted, find_gpu(state, wish.gpu));
      if (gpu != wanted) continue;
    }
    if (!wish.reboot && state.gpus[gpu].no_reset != 0) {
      return fail(Code::kUnsupported,
                  fmt::format("{} cannot be reset in this machine", state.gpus[gpu].uuid),
                  "--reboot resets it");
    }
    TRY(wish.reboot ? reboot_gpu(sim, state.gpus[gpu]) : reset_gpu(sim, state.gpus[gpu]));
  }
  return {};
}

Result<void> reset_and_tell(const Simulation& sim, const Wish& wish) {
  TRY(reset(sim, wish));
  for (std::uint32_t gpu = 0; gpu < sim.state().gpu_count; ++gpu) {
    post_event(sim, {.type = kLayoutEvent, .gpu = gpu});
  }
  return {};
}

void add_gpu_faults(CLI::App& fault, Cli& cli, const std::shared_ptr<Wish>& wish) {
  auto* lost = add_command(fault, cli, "lost",
                           "A GPU falls off the bus: XID 79, then every call about it answers "
                           "GPU_IS_LOST; it is still counted",
                           wish, lose_gpu);
  take_gpu(*lost, *wish, true);
  lost->add_flag("--quiet", wish->quiet, "No XID");
  take_gpu(*add_command(fault, cli, "gone",
                        "A GPU is not there (as after a driver reload): the count shrinks", wish,
                        remove_gpu),
           *wish, true);
  take_gpu(*add_command(fault, cli, "back", "A lost or gone GPU is there again", wish, return_gpu),
           *wish, true);
  take_gpu(*add_command(fault, cli, "nvlink", "A GPU's NVLinks are down", wish, cut_links), *wish,
           true);
  auto* rows =
      add_command(fault, cli, "rows", "Rows of a GPU's memory are remapped", wish, remap_rows);
  take_gpu(*rows, *wish, true);
  rows->add_option("--correctable", wish->correctable, "Because of correctable errors");
  rows->add_option("--uncorrectable", wish->uncorrectable, "Because of uncorrectable errors");
  rows->add_flag("--failed", wish->remap_failed, "A remapping failed");
  auto* replays =
      add_command(fault, cli, "replays", "A GPU's PCIe link repeats packets", wish, replay);
  take_gpu(*replays, *wish, true);
  replays->add_option("--count", wish->replays, "So many more")->required();
  auto* recovery = add_command(fault, cli, "recovery", "The recovery action that the GPU asks for",
                               wish, want_recovery);
  take_gpu(*recovery, *wish, true);
  recovery->add_option("action", wish->action,
                       "none, gpu-reset, node-reboot, drain-p2p or drain-and-reset");
}

void add_call_faults(CLI::App& fault, Cli& cli, const std::shared_ptr<Wish>& wish) {
  auto* failing = add_command(fault, cli, "fail", "Calls fail", wish, fail_calls);
  take_function(*failing, *wish);
  failing->add_option("--error", wish->error, "Error by name or number [UNKNOWN]");
  failing->add_flag(
      "--done", wish->done,
      "Calls about a device do what they are asked for, and then say that they failed");
  take_calls(*failing, *wish);
  take_gpu(*failing, *wish, false);
  auto* slow = add_command(fault, cli, "slow", "Calls take longer", wish, slow_calls);
  take_function(*slow, *wish);
  slow->add_option("--delay-ms", wish->delay_ms, "By so much")->required();
  take_calls(*slow, *wish);
  take_gpu(*slow, *wish, false);
  auto* hang = add_command(fault, cli, "hang", "Calls do not return until the fault is cleared",
                           wish, hang_calls);
  take_function(*hang, *wish);
  take_calls(*hang, *wish);
  take_gpu(*hang, *wish, false);
}

}  // namespace

void add_fault_commands(CLI::App& app, Cli& cli) {
  const auto wish = std::make_shared<Wish>();
  CLI::App* fault = app.add_subcommand("fault", "Injects a fault until `tranche-sim clear`");
  fault->require_subcommand(1);
  add_gpu_faults(*fault, cli, wish);
  add_call_faults(*fault, cli, wish);
  auto* no_driver = add_command(*fault, cli, "no-driver", "The driver is gone", wish, lose_driver);
  no_driver->add_option_function<std::string>(
      "--error", [wish](const std::string& text) { wish->error = text; },
      "What NVML answers [DRIVER_NOT_LOADED]");
  no_driver->preparse_callback([wish](std::size_t) { wish->error = "DRIVER_NOT_LOADED"; });
  add_command(*fault, cli, "driver-back", "The driver is there again", wish, return_driver);

  auto* xid = add_command(app, cli, "xid", "Raises an XID", wish, raise_xid);
  take_gpu(*xid, *wish, true);
  xid->add_option("--xid", wish->xid, "Its number")->required();
  xid->add_option("--gpu-instance", wish->gpu_instance, "MIG GPU instance id [none]");
  xid->add_option("--compute-instance", wish->compute_instance, "MIG compute instance id [none]");

  add_command(app, cli, "clear",
              "Removes all faults: GPUs and driver are as the machine file has them", wish, clear);
  auto* reset_command =
      add_command(app, cli, "reset",
                  "Resets a GPU, or all: MIG instances go, a pending MIG mode comes into force",
                  wish, reset_and_tell);
  take_gpu(*reset_command, *wish, false);
  reset_command->add_flag(
      "--reboot", wish->reboot,
      "All, also GPUs that cannot be reset; Hopper and newer lose the MIG mode");
}

}  // namespace tranche::sim
