// tranche-sim mig: the layout of MIG GPUs, changed from outside.

#include "sim/gpu/mig.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "fmt/format.h"
#include "sim/cli/cli.h"
#include "sim/state/faults.h"

namespace tranche::sim {
namespace {

constexpr std::uint64_t kMigConfigChange = 0x100;

struct MigWish {
  std::string gpu = "0";
  std::string profile;
  std::uint32_t start = kNone;
  std::vector<std::uint32_t> compute;
  std::uint32_t gpu_instance = kNone;
  bool all = false;
};

Result<void> switch_mode(const Simulation& sim, const MigWish& wish, bool on) {
  ASSIGN_OR_RETURN(const std::uint32_t gpu, find_gpu(sim.state(), wish.gpu));
  const Simulation::Guard guard(sim.state());
  return set_mig_mode(sim, sim.state().gpus[gpu], on);
}

std::string names(const Model& model) {
  std::string text;
  for (std::uint32_t i = 0; i < model.profile_count; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", model.profiles[i].name);
  }
  return text;
}

Result<void> create(const Simulation& sim, const MigWish& wish) {
  State& state = sim.state();
  ASSIGN_OR_RETURN(const std::uint32_t index, find_gpu(state, wish.gpu));
  Gpu& gpu = state.gpus[index];
  const Model& model = state.models[gpu.model];
  const Profile* profile = profile_by_name(model, wish.profile);
  if (profile == nullptr) {
    return fail(Code::kNotFound, fmt::format("{} has no profile '{}'", model.name, wish.profile),
                model.profile_count == 0 ? "it has no MIG" : "it has " + names(model));
  }
  const Simulation::Guard guard(state);
  const auto start = wish.start == kNone ? std::optional<std::uint32_t>() : wish.start;
  ASSIGN_OR_RETURN(const std::uint32_t id, create_gpu_instance(state, gpu, *profile, start));
  auto sizes = wish.compute;
  if (sizes.empty()) sizes.push_back(profile->slices);
  for (const std::uint32_t size : sizes) {
    ASSIGN_OR_RETURN(const std::uint32_t compute,
                     create_compute_instance(state, gpu, id, size, std::nullopt));
    fmt::print("{} {}\n", mig_uuid(gpu, {id, compute}),
               mig_profile_name(state, gpu, {id, compute}));
  }
  return {};
}

Result<void> destroy(const Simulation& sim, const MigWish& wish) {
  State& state = sim.state();
  ASSIGN_OR_RETURN(const std::uint32_t index, find_gpu(state, wish.gpu));
  if (!wish.all && wish.gpu_instance == kNone) {
    return fail(Code::kInvalidArgument, "which instance?", "give --gpu-instance N or --all");
  }
  Gpu& gpu = state.gpus[index];
  const Simulation::Guard guard(state);
  for (const MigDevice device : mig_devices(gpu)) {
    if (wish.all || device.gpu_instance == wish.gpu_instance) {
      TRY(destroy_compute_instance(sim, gpu, device));
    }
  }
  if (!wish.all) return destroy_gpu_instance(gpu, wish.gpu_instance);
  for (std::uint32_t id = 0; id < kMaxGpuInstances; ++id) {
    if (gpu.instances[id].used.load() != 0) TRY(destroy_gpu_instance(gpu, id));
  }
  return {};
}

// The step, then the event that the driver raises for it.
void run(Cli& cli, const MigWish& wish, Result<void> (*step)(const Simulation&, const MigWish&)) {
  const auto sim = cli.open();
  if (!sim) return;
  const auto done = step(*sim, wish);
  cli.report(done);
  const auto gpu = find_gpu(sim->state(), wish.gpu);
  if (done && gpu) post_event(*sim, {.type = kMigConfigChange, .gpu = *gpu});
}

}  // namespace

void add_mig_commands(CLI::App& app, Cli& cli) {
  const auto wish = std::make_shared<MigWish>();
  CLI::App* mig = app.add_subcommand("mig", "Changes MIG mode and instances");
  mig->require_subcommand(1);
  const auto add = [&](const char* name, const char* help,
                       Result<void> (*step)(const Simulation&, const MigWish&)) {
    CLI::App* command = mig->add_subcommand(name, help);
    command->add_option("--gpu", wish->gpu, "GPU: index, UUID or PCI address [0]");
    command->callback([&cli, wish, step] { run(cli, *wish, step); });
    return command;
  };
  add("enable", "Turns MIG mode on",
      [](const Simulation& sim, const MigWish& w) { return switch_mode(sim, w, true); });
  add("disable", "Turns MIG mode off",
      [](const Simulation& sim, const MigWish& w) { return switch_mode(sim, w, false); });
  CLI::App* creating = add("create", "Makes a GPU instance with its compute instances", create);
  creating->add_option("--profile", wish->profile, "For example 1g.5gb")->required();
  creating->add_option("--start", wish->start, "Memory slice to begin at [found]");
  creating->add_option("--compute", wish->compute,
                       "Compute slices of each compute instance [all in one]");
  CLI::App* destroying = add("destroy", "Removes a GPU instance and what is in it", destroy);
  destroying->add_option("--gpu-instance", wish->gpu_instance, "Its id");
  destroying->add_flag("--all", wish->all, "Every one of the GPU");
}

}  // namespace tranche::sim
