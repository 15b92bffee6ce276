// tranche layout apply: gives this machine's GPUs a layout from a file.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <set>
#include <stop_token>
#include <thread>

#include "agent/instances/mig_hardware.h"
#include "agent/mps/mps_pause.h"
#include "base/exit_code.h"
#include "cli/layout/change.h"
#include "cli/layout/machine.h"
#include "cli/layout/words.h"
#include "process/process_lock.h"
#include "process/signals.h"

namespace tranche::cli {
namespace {

using Wishes = std::map<gpu::GpuUuid, mig::GpuWish>;

// Folders below the state folder. The first has the journal of an agent that manages layouts.
constexpr const char* kAgentsFolder = "mig";
constexpr const char* kFolder = "layout";
constexpr const char* kLockFile = "lock";

constexpr std::chrono::milliseconds kForever{-1};
constexpr std::chrono::milliseconds kLookAgain{50};

Result<void> check_no_manager(const config::LayoutFileOptions& options) {
  const auto& folder = options.state_dir;
  const bool managed = std::filesystem::exists(folder / kAgentsFolder) &&
                       process::ProcessLock::is_held(folder / "agent.lock");
  if (!managed || options.force) return {};
  return fail(Code::kFailedPrecondition, "the agent of this node manages its layouts",
              "set the label nvidia.com/mig.config of the Node, or write --force");
}

// Changes only the mode: instances that exist in MIG mode stay.
void leave_instances(Wishes& wishes, const mig::Layout& present, const gpu::Machine& machine) {
  using Devices = std::map<std::string, int>;
  std::erase_if(wishes, [&](const auto& one) {
    const auto& has = present.at(one.first);
    return one.second.enabled && has.enabled && !has.waits;
  });
  for (auto& [uuid, wish] : wishes) {
    const auto& geometry = gpu::find_gpu(machine, uuid)->mig_geometry;
    wish.devices = wish.enabled ? devices_of(present.at(uuid), geometry) : Devices();
  }
}

// Where the daemons' folder is in our Pod, and by default on a node.
std::filesystem::path mps_dir_of(const config::LayoutFileOptions& options) {
  constexpr const char* kInPods = "/mps";
  constexpr const char* kOnNodes = "/run/nvidia/mps";
  if (!options.mps_dir.empty()) return std::filesystem::absolute(options.mps_dir);
  std::error_code ignored;
  return std::filesystem::is_directory(kInPods, ignored) ? kInPods : kOnNodes;
}

// GPUs whose mode changes: this node's programs must not use them meanwhile.
std::set<std::string> changing_modes(const LayoutChange& plan) {
  std::set<std::string> gpus;
  for (const auto& step : plan.change.steps) {
    const bool is_mode =
        step.kind == mig::Step::Kind::kSetMode || step.kind == mig::Step::Kind::kReset;
    if (is_mode) gpus.insert(step.gpu.value);
  }
  return gpus;
}

// While it lives, a signal stops the change at its next step.
class StopBySignal {
 public:
  explicit StopBySignal(int signals)
      : watch_([this, signals](const std::stop_token& over) {
          while (!over.stop_requested()) {
            if (!process::wait_for_signal(signals, kLookAgain)) stop_.request_stop();
          }
        }) {}
  std::stop_token token() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  std::jthread watch_;
};

mig::Watcher progress(const gpu::Machine& machine) {
  return {.step = [&machine](const mig::Step& step, std::size_t done, std::size_t all) {
    const auto* gpu = gpu::find_gpu(machine, step.gpu);
    fmt::print("[{}/{}] {}\n", done + 1, all, describe(step, gpu->mig_geometry, gpu->index));
    std::fflush(stdout);
  }};
}

// One call of the command.
class Apply {
 public:
  Apply(const LayoutCall& call, const config::LayoutFileOptions& options, LayoutMachine& machine,
        int signals)
      : call_(call),
        options_(options),
        machine_(machine),
        signals_(signals),
        mps_dir_(mps_dir_of(options)),
        journal_(FsRoot(),
                 std::filesystem::absolute(options.state_dir) / kFolder / "journal.json") {}

  int run() {
    const auto chosen = choose_layout(options_, &machine_.machine());
    if (!chosen) return end(call_, chosen.error());
    warn_of_hooks(chosen->file.hooks);
    const auto plan = plan_of(*chosen);
    if (!plan) return end(call_, plan.error());
    fmt::print("{}", show(*plan, machine_.machine()));
    tell_of_mps(*plan);
    if (plan->change.steps.empty() && !cut_off_) {
      fmt::print("{}{} is applied already\n", options_.mode_only ? "the MIG mode of " : "",
                 chosen->name);
      return kExitFine;
    }
    if (auto unused = check(*plan); !unused) return end(call_, unused.error());
    if (options_.dry_run) {
      if (auto possible = check_resets(*plan, machine_.machine()); !possible) {
        return end(call_, possible.error());
      }
      fmt::print("nothing was changed (--dry-run)\n");
      return kExitFine;
    }
    if (!options_.yes && isatty(STDIN_FILENO) != 0 && !wants_to_go_on(signals_))
      return kExitFinding;
    return take(*plan, chosen->name);
  }

 private:
  void warn_of_hooks(std::vector<std::string> hooks) const {
    const auto file = call_.invocation.environment.find("MIG_PARTED_HOOKS_FILE");
    if (file != call_.invocation.environment.end()) {
      hooks.push_back("those of MIG_PARTED_HOOKS_FILE=" + file->second);
    }
    for (const auto& hook : hooks) {
      fmt::print(stderr, "tranche layout apply: hooks are not run: {}\n", hook);
    }
  }

  Result<LayoutChange> plan_of(const ChosenLayout& chosen) {
    ASSIGN_OR_RETURN(auto wishes, mig::wishes_of(chosen.file, chosen.name, machine_.machine()));
    ASSIGN_OR_RETURN(cut_off_, journal_.load());
    if (cut_off_) {
      fmt::print("a change to {} was cut off; this one finishes or undoes it\n", cut_off_->layout);
    }
    if (options_.mode_only) {
      ASSIGN_OR_RETURN(const auto present, machine_.present());
      leave_instances(wishes, present, machine_.machine());
    }
    return plan_layout(wishes, machine_.machine(), machine_.control(), cut_off_);
  }

  Result<void> check(const LayoutChange& plan) const {
    TRY(check_no_manager(options_));
    const auto ending = agent::mps_on(mps_dir_, changing_modes(plan));
    const auto users_of = [&](const std::vector<std::string>& uuids) {
      const bool makes_way = std::ranges::any_of(ending, [&](const agent::EndingMps& one) {
        return std::ranges::any_of(uuids,
                                   [&](const auto& uuid) { return one.gpus.contains(uuid); });
      });
      return machine_.users_of(uuids, !makes_way);
    };
    TRY(check_unused(plan, machine_.machine(), users_of));
    return check_other_gpus(plan, ending);
  }

  // A daemon's clients end with it, on its other GPUs too.
  Result<void> check_other_gpus(const LayoutChange& plan,
                                const std::vector<agent::EndingMps>& ending) const {
    const auto changing = changing_modes(plan);
    for (const auto& daemon : ending) {
      std::vector<std::string> found;
      for (const auto& gpu : machine_.machine().gpus) {
        const auto& uuid = gpu.uuid.value;
        if (!daemon.gpus.contains(uuid) || changing.contains(uuid)) continue;
        ASSIGN_OR_RETURN(const auto users, machine_.users_of({uuid}, false));
        for (const auto& user : users) found.push_back(fmt::format("GPU {}: {}", gpu.index, user));
      }
      if (found.empty()) continue;
      return fail(Code::kFailedPrecondition,
                  fmt::format("the MPS control daemon of {} serves other GPUs too, and processes "
                              "there would end with it: {}",
                              daemon.resource, fmt::join(found, ", ")),
                  "end them first; nothing was changed");
    }
    return {};
  }

  void tell_of_mps(const LayoutChange& plan) const {
    for (const auto& daemon : agent::mps_on(mps_dir_, changing_modes(plan))) {
      fmt::print("the MPS control daemon of {} ends for the change\n", daemon.resource);
    }
  }

  int take(const LayoutChange& plan, const std::string& name) {
    agent::MigHardware hardware(machine_.connection(),
                                {.environment = call_.invocation.environment,
                                 .host_root = options_.host_root,
                                 .state_dir = std::filesystem::absolute(options_.state_dir),
                                 .mps_dir = mps_dir_});
    const SystemClock clock;
    const StopBySignal stop(signals_);
    const auto end = take_layout(plan, name,
                                 {.hardware = hardware.of(machine_.machine(), changing_modes(plan)),
                                  .journal = journal_,
                                  .clock = clock,
                                  .watcher = progress(machine_.machine()),
                                  .retries = {},
                                  .stop = stop.token()});
    return report(end, name);
  }

  int report(const LayoutEnd& end, const std::string& name) const {
    if (!end.trouble) {
      fmt::print("{} is applied\n", name);
      return kExitFine;
    }
    (void)cli::end(call_, *end.trouble);
    if (end.undo_trouble) {
      fmt::print(stderr,
                 "the GPUs are between two layouts, for the undo failed, too: {}\n"
                 "apply a layout again: that finishes or undoes it\n",
                 end.undo_trouble->message());
    } else {
      fmt::print(stderr, "the GPUs have what they had before\n");
    }
    return kExitFinding;
  }

  const LayoutCall& call_;
  const config::LayoutFileOptions& options_;
  LayoutMachine& machine_;
  int signals_;
  std::filesystem::path mps_dir_;
  JournalFile journal_;
  std::optional<mig::Journal> cut_off_;
};

// Allows one change at a time. Folders created for the lock are removed with it; a journal stays.
class ApplyLock {
 public:
  static Result<ApplyLock> take(const config::LayoutFileOptions& options) {
    const auto folder = std::filesystem::absolute(options.state_dir) / kFolder;
    TRY(FsRoot().make_directories(folder));
    ASSIGN_OR_RETURN(auto lock,
                     process::ProcessLock::take(folder / kLockFile, [] { return false; }));
    if (lock != nullptr) return ApplyLock(folder, std::move(lock));
    return fail(Code::kFailedPrecondition, "another `tranche layout apply` runs",
                "wait for its end");
  }
  ApplyLock(ApplyLock&&) = default;
  ApplyLock& operator=(ApplyLock&&) = default;
  ~ApplyLock() {
    if (lock_ == nullptr) return;
    std::error_code ignored;
    std::filesystem::remove(folder_ / kLockFile, ignored);
    std::filesystem::remove(folder_, ignored);
  }

 private:
  ApplyLock(std::filesystem::path folder, std::unique_ptr<process::ProcessLock> lock)
      : folder_(std::move(folder)), lock_(std::move(lock)) {}

  std::filesystem::path folder_;
  std::unique_ptr<process::ProcessLock> lock_;
};

int apply(const LayoutCall& call, const config::LayoutFileOptions& options, int signals) {
  // Locked first, so that what is read stays true.
  std::optional<ApplyLock> lock;
  if (!options.dry_run) {
    auto taken = ApplyLock::take(options);
    if (!taken) return end(call, taken.error());
    lock.emplace(*std::move(taken));
  }
  auto machine = LayoutMachine::open(options);
  if (!machine) return end(call, machine.error());
  return Apply(call, options, *machine, signals).run();
}

}  // namespace

bool wants_to_go_on(int signals) {
  fmt::print("Go on? [y/N] ");
  std::fflush(stdout);
  if (!process::wait_for_signal(signals, kForever, STDIN_FILENO)) return false;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int run_layout_apply(const LayoutCall& call) {
  if (!call.arguments.empty()) {
    return refuse(call, fmt::format("unexpected argument '{}'", call.arguments[0].substr(0, 80)));
  }
  const auto options = config::load_layout_file_options(call.sources, call.use());
  if (!options) return refuse(call, options.error().message());
  if (!options->node.empty()) return run_layout_apply_on_node(call, *options);
  constexpr int kNoSignals = -1;
  if (options->dry_run) return apply(call, *options, kNoSignals);
  const Log log(LogLevel::kWarn);
  return process::run_with_signals(log,
                                   [&](int signals) { return apply(call, *options, signals); });
}

}  // namespace tranche::cli
