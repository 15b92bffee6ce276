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
    kept = {planned_->present, boot_};
  }
  if (kept == outcome_->kept) return;
  outcome_->kept = std::move(kept);
  keep_outcome();
}

// GPUs that are not there now are not waited for.
void MigManager::gather_lost(MigFacts& facts) {
  const auto* outcome = this->outcome();
  const auto view = this->view();
  if (outcome == nullptr || !outcome->failed() || outcome->kept.boot == boot_) return;
  MigPlan lost;
  for (const auto& [uuid, layout] : outcome->kept.layout) {
    if (gpu::find_gpu(*view->state.machine, uuid) == nullptr) continue;
    const auto state = ports_.control.read(uuid);
    if (!state) return;
    auto present = mig::layout_of(*state);
    if (present == layout) continue;
    lost.from.emplace(uuid, std::move(present));
    lost.to.emplace(uuid, layout);
  }
  if (!lost.empty()) gather_holders(facts, lost);
  facts.lost = std::move(lost);
}

}  // namespace tranche::agent
