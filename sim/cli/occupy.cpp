// tranche-sim occupy: a process that sits on a GPU without CUDA, until it is killed.

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/quantity.h"
#include "fmt/format.h"
#include "sim/cli/cli.h"
#include "sim/gpu/memory.h"
#include "sim/gpu/mig.h"
#include "sim/gpu/open_gpus.h"
#include "sim/gpu/uses.h"
#include "sim/state/clock.h"

namespace tranche::sim {
namespace {

struct OccupyWish {
  std::string gpu = "0";
  std::string memory = "0";
  std::uint32_t util = 0;
  std::string name;
  std::string kind = "compute";
  bool die_with_parent = false;
};

// A MIG device by UUID or "gpu:index", else a GPU.
Result<UseTarget> find_target(const State& state, const std::string& text) {
  for (std::uint32_t gpu = 0; gpu < state.gpu_count; ++gpu) {
    const auto devices = mig_devices(state.gpus[gpu]);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (text == mig_uuid(state.gpus[gpu], devices[i]) || text == fmt::format("{}:{}", gpu, i)) {
        return UseTarget{gpu, devices[i].gpu_instance, devices[i].compute_instance};
      }
    }
  }
  ASSIGN_OR_RETURN(const std::uint32_t gpu, find_gpu(state, text));
  return UseTarget{gpu};
}

Result<UseKind> parse_kind(const std::string& text) {
  if (text == "compute") return UseKind::kCompute;
  if (text == "graphics") return UseKind::kGraphics;
  if (text == "mps") return UseKind::kMps;
  return fail(Code::kInvalidArgument, fmt::format("'{}' is no kind of process", text),
              "one of compute, graphics, mps");
}

Result<void> occupy(Simulation& sim, const OccupyWish& wish) {
  ASSIGN_OR_RETURN(const Bytes memory, parse_bytes(wish.memory));
  ASSIGN_OR_RETURN(UseTarget target, find_target(sim.state(), wish.gpu));
  ASSIGN_OR_RETURN(target.kind, parse_kind(wish.kind));
  ASSIGN_OR_RETURN(ProcessSlot* const slot, sim.claim_slot(wish.name));
  ASSIGN_OR_RETURN(Use* const use, add_use(sim, *slot, target));
  if (auto taken = take_memory(sim, *use, memory.value); !taken) {
    sim.release_slot(slot);
    return taken;
  }
  // Until this process ends.
  static const auto nodes = open_gpus(sim, *slot, std::uint64_t{1} << target.gpu);
  use->declared_since_ns.store(now_ns(sim.state()));
  use->declared_permille.store(wish.util * 10);
  fmt::print("{} holds {} MiB of GPU {} at {} %\n", ::getpid(), memory.mib(), target.gpu,
             wish.util);
  std::fflush(stdout);
  return {};
}

// The signals that end it wait until the slot is given back; SIGKILL needs no care (liveness.h).
void wait_for_the_end() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  int ended_by = 0;
  ::sigwait(&signals, &ended_by);
}

}  // namespace

void add_occupy(CLI::App& app, Cli& cli) {
  const auto wish = std::make_shared<OccupyWish>();
  CLI::App* command = app.add_subcommand(
      "occupy", "Holds a GPU as a process would, until killed; prints one line once it does");
  command->add_option("--gpu", wish->gpu,
                      "GPU (index, UUID, PCI address) or MIG device (UUID, gpu:index) [0]");
  command->add_option("--memory", wish->memory, "GPU memory to take, for example 315Mi [0]");
  command->add_option("--util", wish->util, "Percent of the GPU's time it wants [0]")
      ->check(CLI::Range(0, 100));
  command->add_option("--name", wish->name, "Process name that NVML tells [the command line's]");
  command->add_option("--kind", wish->kind, "compute, graphics or mps [compute]");
  command->add_flag("--die-with-parent", wish->die_with_parent, "End when the caller ends");
  command->callback([&cli, wish] {
    if (wish->die_with_parent) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto sim = cli.open();
    if (!sim) return;
    const auto held = occupy(*sim, *wish);
    cli.report(held);
    if (held) wait_for_the_end();
  });
}

}  // namespace tranche::sim
