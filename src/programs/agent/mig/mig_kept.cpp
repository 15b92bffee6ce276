#include "agent/mig/mig_kept.h"

#include <algorithm>

namespace tranche::agent {
namespace {

bool led_to(const mig::Journal& journal, const mig::Layout& kept) {
  return std::ranges::all_of(journal.from, [&](const auto& gpu) {
    const auto found = kept.find(gpu.first);
    return found != kept.end() && found->second == gpu.second;
  });
}

}  // namespace

// When a change after a reboot fails, `from` is what the reboot left. So `kept` stays until the
// manager has tried to restore it.
MigKept kept_after(const MigOutcome& outcome, const MigProgress& progress) {
  auto kept = progress.outcome ? progress.outcome->kept : MigKept();
  if (!outcome.failed() || !progress.journal) return kept;
  if (kept.boot.empty()) kept.boot = progress.boot;
  const auto& journal = *progress.journal;
  if (kept.boot == progress.boot) kept.layout.insert(journal.from.begin(), journal.from.end());
  if (led_to(journal, kept.layout)) kept.boot = progress.boot;
  return kept;
}

MigKept kept_at_rest(const MigFacts& facts, const MigProgress& progress) {
  auto kept = progress.outcome->kept;
  if (progress.outcome->failed()) {
    if (facts.lost && facts.lost->empty()) kept.boot = progress.boot;
    return kept;
  }
  const bool met = facts.plan && *facts.plan && (*facts.plan)->empty();
  return met ? MigKept{facts.present, progress.boot} : kept;
}

bool is_set_since(const mig::GpuLayout& before, const mig::GpuLayout& now, const gpu::Gpu& gpu) {
  return now.waits || !mig::explained_by_reboot(before, now.enabled, mig::mode_needs_reset(gpu));
}

mig::Layout set_by_others(const mig::Layout& were, const mig::Layout& are,
                          const gpu::Machine& machine) {
  mig::Layout set;
  for (const auto& [uuid, now] : are) {
    const auto before = were.find(uuid);
    const auto* gpu = gpu::find_gpu(machine, uuid);
    if (before == were.end() || gpu == nullptr) continue;
    if (is_set_since(before->second, now, *gpu)) set.emplace(uuid, now);
  }
  return set;
}

bool has_mode_come(const MigPlan& plan, const mig::Layout& present, const MigKept& kept) {
  const auto has_mode = [&](const auto& gpu) {
    const auto to = plan.to.find(gpu.first);
    return to == plan.to.end() || to->second.enabled == gpu.second.enabled;
  };
  const auto has_come = [&](const auto& gpu) {
    const auto before = kept.layout.find(gpu.first);
    return before != kept.layout.end() && before->second.enabled != gpu.second.enabled;
  };
  return std::ranges::all_of(present, has_mode) && std::ranges::any_of(present, has_come);
}

}  // namespace tranche::agent
