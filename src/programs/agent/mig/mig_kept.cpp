// What the GPUs are to have again after a reboot, when the last wish has failed.

#include <algorithm>
#include <utility>

#include "agent/mig/mig_manager.h"

namespace tranche::agent {
namespace {

// Whether these GPUs were to be brought to what was kept.
bool led_to(const mig::Journal& journal, const mig::Layout& kept) {
  return std::ranges::all_of(journal.from, [&](const auto& gpu) {
    const auto found = kept.find(gpu.first);
    return found != kept.end() && found->second == gpu.second;
  });
}

// A mode that a reboot does not explain is somebody's, who set it before the reboot or since.
bool is_set_since(const mig::GpuLayout& before, const mig::GpuLayout& now, const gpu::Gpu& gpu) {
  return now.waits || !mig::explained_by_reboot(before, now.enabled, mig::mode_needs_reset(gpu));
}

}  // namespace

// Of a failed change that began after a reboot the GPUs' layout before it is what the reboot left.
// So what was kept stays, until it was tried to make it again.
MigKept MigManager::kept_after(const MigOutcome& outcome) const {
  auto kept = outcome_ ? outcome_->kept : MigKept();
  if (!outcome.failed() || !journal_) return kept;
  if (kept.boot.empty()) kept.boot = boot_;
  if (kept.boot == boot_) kept.layout.insert(journal_->from.begin(), journal_->from.end());
  if (led_to(*journal_, kept.layout)) kept.boot = boot_;
  return kept;
}

// Nothing is to be done: the GPUs have what is asked for, or nobody asks again.
void MigManager::note_kept(const MigFacts& facts) {
  if (outcome() == nullptr) return;
  auto kept = outcome_->kept;
  if (outcome()->failed()) {
    report_failed(outcome_->label, outcome_->end, outcome_->trouble);
    if (facts.lost && facts.lost->empty()) kept.boot = boot_;
  } else if (facts.plan && *facts.plan && (*facts.plan)->empty()) {
    report_met(outcome_->label);
    kept = {layouts_of(planned_->states), boot_};
  }
  if (kept == outcome_->kept) return;
  outcome_->kept = std::move(kept);
  keep_outcome();
}

void MigManager::note_set_by_others(const mig::Layout& were, const mig::Layout& are,
                                    MigFacts& facts) const {
  const auto view = this->view();
  for (const auto& [uuid, now] : are) {
    const auto before = were.find(uuid);
    const auto* gpu = gpu::find_gpu(*view->state.machine, uuid);
    if (before == were.end() || gpu == nullptr) continue;
    if (is_set_since(before->second, now, *gpu)) facts.set_by_others.emplace(uuid, now);
  }
}

// What the modes of the wish's GPUs tell: which of them wait, and which came with a reboot.
void MigManager::gather_modes(MigFacts& facts) {
  if (!*facts.plan) return;
  const auto& plan = **facts.plan;
  const auto& machine = *view()->state.machine;
  facts.waiting = describe_waiting(plan, machine);
  facts.reboot = describe_reboot(plan, planned_->states, machine);
  const auto* outcome = this->outcome();
  if (outcome == nullptr || outcome->boot == boot_) return;
  auto were = plan.to;
  for (const auto& [uuid, layout] : outcome->kept.layout) were.insert_or_assign(uuid, layout);
  if (!outcome->failed()) return note_set_by_others(were, plan.from, facts);
  const auto present = layouts_of(planned_->states);
  const auto has_mode = [&](const auto& gpu) {
    const auto to = plan.to.find(gpu.first);
    return to == plan.to.end() || to->second.enabled == gpu.second.enabled;
  };
  const auto has_come = [&](const auto& gpu) {
    const auto kept = outcome->kept.layout.find(gpu.first);
    return kept != outcome->kept.layout.end() && kept->second.enabled != gpu.second.enabled;
  };
  facts.mode_came =
      std::ranges::all_of(present, has_mode) && std::ranges::any_of(present, has_come);
}

// GPUs that are not there now are not waited for.
void MigManager::gather_lost(MigFacts& facts) {
  const auto* outcome = this->outcome();
  const auto view = this->view();
  if (outcome == nullptr || !outcome->failed() || outcome->kept.boot == boot_) return;
  MigPlan lost;
  for (const auto& [uuid, layout] : outcome->kept.layout) {
    const auto* gpu = gpu::find_gpu(*view->state.machine, uuid);
    if (gpu == nullptr) continue;
    const auto state = ports_.control.read(uuid);
    if (!state) return;
    auto present = mig::layout_of(*state);
    if (is_set_since(layout, present, *gpu)) continue;
    if (present == mig::as_it_can_be(layout, present)) continue;
    lost.from.emplace(uuid, std::move(present));
    lost.to.emplace(uuid, layout);
  }
  if (!lost.empty()) gather_holders(facts, lost);
  facts.lost = std::move(lost);
}

}  // namespace tranche::agent
