#include "mig/apply.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/pause.h"
#include "mig/step_taker.h"

namespace tranche::mig {
namespace {

constexpr int kAmpere = 8;  // major compute capability of the GPUs of that kind that have MIG

const gpu::Gpu& known_gpu(const Hardware& hardware, const gpu::GpuUuid& uuid) {
  static const gpu::Gpu kUnknown;
  const auto* gpu = gpu::find_gpu(hardware.machine, uuid);
  return gpu == nullptr ? kUnknown : *gpu;
}

// The GPUs' state, as the driver reports it.
using States = std::map<gpu::GpuUuid, gpu::MigState>;

Result<States> read_states(gpu::MigControl& control, const Layout& of) {
  States states;
  for (const auto& [gpu, layout] : of) {
    auto state = control.read(gpu);
    if (!state) return std::unexpected(std::move(state.error()).with_context("read " + gpu.value));
    states.emplace(gpu, *std::move(state));
  }
  return states;
}

struct Way {
  States states;
  Change change;
};

// The remaining steps from the GPUs' present state.
Result<Way> way_to(const Layout& to, const Hardware& hardware, const Crowded& crowded = {}) {
  ASSIGN_OR_RETURN(auto states, read_states(hardware.control, to));
  Layout from;
  for (const auto& [gpu, state] : states) from.emplace(gpu, layout_of(state));
  const auto needs_reset = [&](const gpu::GpuUuid& gpu) {
    return mode_needs_reset(known_gpu(hardware, gpu));
  };
  ASSIGN_OR_RETURN(auto change, make_change(from, to, needs_reset, crowded));
  // For readers of the log: in the order in which people count GPUs.
  std::ranges::stable_sort(change.steps, {},
                           [&](const Step& step) { return known_gpu(hardware, step.gpu).index; });
  return Way{.states = std::move(states), .change = std::move(change)};
}

bool is_there(const Result<Way>& way) { return way && way->change.steps.empty(); }

// A change can be stopped only between two steps, when nothing is half done.
class Patience {
 public:
  Patience(std::chrono::steady_clock::time_point until, const Clock& clock,
           const std::stop_token& stop)
      : until_(until), clock_(clock), stop_(stop) {}

  const std::stop_token& stop() const { return stop_; }

  Result<void> check() const {
    if (stop_.stop_requested()) return fail(Code::kTimeout, "it was told to stop");
    if (clock_.now() >= until_) return fail(Code::kTimeout, "its time is over");
    return {};
  }

  void wait(std::chrono::milliseconds time) const {
    if (time > std::chrono::milliseconds(0)) pause(time, stop_);
  }

 private:
  std::chrono::steady_clock::time_point until_;
  const Clock& clock_;
  const std::stop_token& stop_;
};

bool resets(const Step& step, const gpu::GpuUuid& gpu) {
  return step.kind == Step::Kind::kReset && step.gpu == gpu;
}

// Null if no mode changes, or without Hardware::quiet.
Result<std::shared_ptr<void>> keep_quiet(const Way& way, const Hardware& hardware,
                                         const Patience& patience) {
  // A mode that is set for the next reset, or no longer, changes nothing now.
  const auto is_mode = [](const Step& step) {
    return step.kind == Step::Kind::kReset || step.kind == Step::Kind::kSetMode;
  };
  const auto& steps = way.change.steps;
  const bool needed = std::ranges::any_of(steps, is_mode);
  if (!needed || !hardware.quiet || !patience.check()) return nullptr;
  const bool reset = std::ranges::any_of(steps, [&](const Step& step) {
    return is_mode(step) && mode_needs_reset(known_gpu(hardware, step.gpu));
  });
  return hardware.quiet(reset, patience.stop());
}

Result<void> take(const Way& way, const Hardware& hardware, const Watcher& watcher,
                  const Patience& patience, Crowded& crowded) {
  StepTaker taker(hardware, way.states);
  const auto& steps = way.change.steps;
  for (std::size_t done = 0; done < steps.size(); ++done) {
    const auto& step = steps[done];
    const auto& gpu = known_gpu(hardware, step.gpu);
    auto taken = patience.check();
    if (taken && watcher.step) watcher.step(step, done, steps.size());
    const bool reset_follows = done + 1 < steps.size() && resets(steps[done + 1], step.gpu);
    if (taken) taken = taker.take(step, gpu, reset_follows);
    if (taken) continue;
    if (step.kind == Step::Kind::kCreateCompute && taken.error().code == Code::kInvalidArgument) {
      crowded.insert({step.gpu, step.instance.placement});
    }
    return std::unexpected(
        std::move(taken.error()).with_context(describe(step, gpu.mig_geometry, gpu.index)));
  }
  return {};
}

bool may_pass(const Error& error) {
  return error.code != Code::kUnsupported && error.code != Code::kPermission;
}

}  // namespace

bool mode_needs_reset(const gpu::Gpu& gpu) { return gpu.compute_capability.major == kAmpere; }

Result<Layout> read_layout(gpu::MigControl& control, const std::vector<gpu::GpuUuid>& of) {
  Layout wanted;
  for (const auto& gpu : of) wanted.try_emplace(gpu);
  ASSIGN_OR_RETURN(const auto states, read_states(control, wanted));
  for (const auto& [gpu, state] : states) wanted.at(gpu) = layout_of(state);
  return wanted;
}

Result<Layout> way_back(const Layout& from, const Layout& to, gpu::MigControl& control) {
  ASSIGN_OR_RETURN(const auto states, read_states(control, from));
  auto back = from;
  for (auto& [gpu, layout] : back) {
    const auto wanted = to.find(gpu);
    const bool ours = wanted == to.end() || wanted->second.enabled != layout.enabled ||
                      wanted->second.waits != layout.waits;
    const auto now = layout_of(states.at(gpu));
    if (!ours && now.enabled == layout.enabled) layout.waits = now.waits;
  }
  return back;
}

Result<void> apply(const Layout& to, const Hardware& hardware, const Watcher& watcher,
                   std::chrono::steady_clock::time_point until, const Clock& clock,
                   const std::stop_token& stop, Retries retries) {
  const Patience patience(until, clock, stop);
  Crowded crowded;
  std::shared_ptr<void> quiet;  // kept between two tries
  for (int tried = 1;; ++tried) {
    auto way = way_to(to, hardware, crowded);
    if (is_there(way)) return {};
    // Before the first step, so that nothing is changed if a program remains.
    if (way && quiet == nullptr) {
      ASSIGN_OR_RETURN(quiet, keep_quiet(*way, hardware, patience));
    }
    Result<void> taken = way ? take(*way, hardware, watcher, patience, crowded)
                             : Result<void>(std::unexpected(way.error()));
    // A call may have succeeded although it reported failure, and vice versa.
    if (is_there(way_to(to, hardware))) return {};
    if (taken) {
      taken = fail(Code::kUnavailable, "the GPUs have another layout after all steps were taken",
                   "see that no other program changes it");
    }
    if (tried >= retries.tries || !may_pass(taken.error()) || !patience.check()) return taken;
    patience.wait(retries.wait);
  }
}

}  // namespace tranche::mig
