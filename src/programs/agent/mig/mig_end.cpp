// The end of a change: what became of the wish, where that is kept, and what people are told.

#include <fmt/format.h>

#include <algorithm>

#include "agent/mig/mig_manager.h"
#include "cluster/reasons.h"

namespace tranche::agent {
namespace {

std::string text_of_end(MigEnd end, const std::string& layout) {
  switch (end) {
    case MigEnd::kUntouched:
    case MigEnd::kWaits:
      return fmt::format("the layout {} is not in force; nothing was changed", layout);
    case MigEnd::kUndone:
      return fmt::format("the layout {} is not in force; the change was undone", layout);
    case MigEnd::kChanged:
      return fmt::format("the GPUs have the layout {}, but the change to it failed", layout);
    case MigEnd::kBetween:
      return fmt::format("the GPUs have neither the layout {} nor the one before it", layout);
    case MigEnd::kUnread:
      break;
  }
  return fmt::format("the change to the layout {} failed, and was not undone", layout);
}

}  // namespace

void MigManager::on_finished(const mig::Journal& journal) {
  if (journal.trouble.empty()) return report_met(journal.layout);
  report_failed(journal.layout, end_of(journal), journal.trouble);
}

// An undo may find a Pod on a new device that does not go. The hardware knows what became of it.
MigEnd MigManager::end_of(const mig::Journal& journal) const {
  if (!journal.touched) return MigEnd::kUntouched;
  std::vector<gpu::GpuUuid> gpus;
  for (const auto& [uuid, ignored] : journal.from) gpus.push_back(uuid);
  const auto now = mig::read_layout(ports_.control, gpus);
  const auto back = mig::way_back(journal.from, journal.to, ports_.control);
  if (!now || !back) return MigEnd::kUnread;
  const bool undone = std::ranges::all_of(*now, [&](const auto& gpu) {
    return gpu.second == mig::as_it_can_be(back->at(gpu.first), gpu.second);
  });
  if (undone) return MigEnd::kUndone;
  // What a reboot left is no layout that somebody asked for.
  const bool restores = outcome() != nullptr && outcome()->failed();
  return *now == journal.to && !restores ? MigEnd::kChanged : MigEnd::kBetween;
}

// The Node is told before the journal goes, so that who comes next does not take its text for a
// change that is under way.
bool MigManager::end_change(const std::stop_token& stop) {
  if (!publish(stop)) return false;
  if (const auto dropped = files_.drop_journal(); !dropped) {
    if (said_.is_news("journal", dropped.error().what)) ports_.log.warn(dropped.error());
    return false;
  }
  closing_ = false;
  planned_.reset();
  set_journal({});
  return true;
}

void MigManager::settle(MigOutcome outcome) {
  forgotten_ = false;
  if (journal_ && outcome.failed()) outcome.end = end_of(*journal_);
  outcome.kept = kept_after(outcome);
  outcome_ = std::move(outcome);
  keep_outcome();
  if (journal_) return;
  if (!outcome_->failed()) return report_met(outcome_->label);
  report_failed(outcome_->label, outcome_->end, outcome_->trouble);
}

void MigManager::forget(const MigFacts& facts) {
  planned_.reset();
  forgotten_ = true;
  if (outcome_) outcome_ = MigOutcome{.kept = std::move(outcome_->kept)};
  if (outcome_ && !facts.label.empty() && !outcome_->kept.layout.empty()) return keep_outcome();
  if (const auto dropped = files_.drop_outcome(); !dropped) ports_.log.warn(dropped.error());
  outcome_.reset();
  if (facts.label.empty()) report_unmanaged(true);
}

void MigManager::report_unmanaged(bool as_event) {
  report(true, cluster::reason::kMigUnmanaged, "no layout is asked for; the GPUs stay as they are",
         as_event);
}

const MigOutcome* MigManager::outcome() const {
  return outcome_ && !outcome_->wish.empty() ? &*outcome_ : nullptr;
}

// From here on the label's absence means that a person removed it.
void MigManager::note_told() {
  if (outcome() == nullptr || outcome_->told || journal_) return;
  const auto node = ports_.node();
  const auto* said = outcome_->failed() ? kMigFailed : kMigSuccess;
  if (!node || cluster::value_of(node->labels, cluster::kMigStateLabel) != said) return;
  outcome_->told = true;
  keep_outcome();
}

// An older one on a disk without room would be taken for this one. The Node has it, too.
void MigManager::keep_outcome() {
  const auto stored = files_.store(*outcome_);
  if (stored) return;
  ports_.log.warn(stored.error());
  if (const auto dropped = files_.drop_outcome(); !dropped) ports_.log.warn(dropped.error());
}

void MigManager::report(bool good, const char* reason, const std::string& message, bool as_event) {
  const ConditionReport report{.type = cluster::condition::kTrancheMigLayout,
                               .good = good,
                               .reason = reason,
                               .message = message,
                               .action = "ChangeMigLayout",
                               .as_event = as_event};
  const bool known =
      reported_ && reported_->reason == report.reason && reported_->message == report.message;
  if (!known) {
    reported_ = report;
    if (good) {
      ports_.log.info(message);
    } else {
      ports_.log.error(message);
    }
  }
  // Known or not: who writes it sees whether the Node still has it.
  if (ports_.report) ports_.report(*reported_);
}

void MigManager::report_met(const std::string& layout) {
  report(true, cluster::reason::kMigChanged, fmt::format("the GPUs have the layout {}", layout));
}

void MigManager::report_failed(const std::string& layout, MigEnd end, const std::string& trouble) {
  const bool untouched = end == MigEnd::kUntouched || end == MigEnd::kWaits;
  report(false, untouched ? cluster::reason::kMigNotChanged : cluster::reason::kMigChangeFailed,
         fmt::format("{}: {}", text_of_end(end, layout), trouble));
}

}  // namespace tranche::agent
