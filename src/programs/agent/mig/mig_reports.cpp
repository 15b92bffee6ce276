// The condition and the Events of the announcer.

#include <fmt/format.h>

#include "agent/mig/mig_announcer.h"
#include "cluster/formats/reasons.h"

namespace tranche::agent {
namespace {

constexpr const char* kAction = "ChangeMigLayout";

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

std::string text_of_drift(const MigFacts& facts) {
  const auto ask = fmt::format("Remove the label {} to have it applied", cluster::kMigStateLabel);
  if (!is_edited(facts)) {
    return fmt::format(
        "the GPUs do not have the layout {} any more: somebody changed it by hand{}; it is left "
        "so. {} again",
        facts.label, facts.waiting.empty() ? "" : fmt::format(" ({})", facts.waiting), ask);
  }
  auto text = fmt::format(
      "the text of the layout {} is another one than the GPUs got; they are left as they are. {}",
      facts.label, ask);
  if (!*facts.plan) text += fmt::format(". It would fail: {}", facts.plan->error().message());
  return text;
}

}  // namespace

void MigAnnouncer::report(const MigMove& move, const MigFacts& facts, const MigProgress& progress,
                          std::optional<mig::Journal::Phase> before, const MigView& view) {
  switch (move.kind) {
    case MigMove::Kind::kWait:
      return report_at_rest(facts, progress);
    case MigMove::Kind::kForget:
      if (facts.label.empty()) report_unmanaged(AsEvent::kYes);
      return;
    case MigMove::Kind::kSettle:
      return report_outcome(move.outcome->label, progress.outcome->end, move.outcome->trouble);
    case MigMove::Kind::kDrift:
      return report(false, cluster::reason::kMigLayoutDrift, text_of_drift(facts));
    case MigMove::Kind::kJournal:
      if (progress.is_in(mig::Journal::Phase::kDraining) && before != progress.journal->phase) {
        announce(facts, *progress.journal, view);
      }
      if (progress.is_in(mig::Journal::Phase::kFinished)) report_end(progress);
      return;
    case MigMove::Kind::kApply:
      return;
    case MigMove::Kind::kClose:
      if (!move.outcome && facts.wish && facts.wish->empty()) report_unmanaged(AsEvent::kYes);
      return;
  }
}

void MigAnnouncer::report_end(const MigProgress& progress) {
  const auto& journal = *progress.journal;
  report_outcome(journal.layout, progress.end, journal.trouble);
}

// The condition shows that this node has a manager, also while nothing is asked for.
void MigAnnouncer::report_at_rest(const MigFacts& facts, const MigProgress& progress) {
  if (progress.journal) return;
  const auto* outcome = progress.of_wish();
  if (outcome == nullptr) {
    if (facts.node_known && facts.label.empty()) report_unmanaged(AsEvent::kNo);
    return;
  }
  const bool met = facts.plan && *facts.plan && (*facts.plan)->empty();
  if (outcome->failed() || met) report_outcome(outcome->label, outcome->end, outcome->trouble);
}

void MigAnnouncer::announce(const MigFacts& facts, const mig::Journal& journal,
                            const MigView& view) {
  // A controller that answers has announced it.
  if (!ports_.tell || facts.answer) return;
  auto note = fmt::format("MIG layout {}: {}", journal.layout, describe(counts_of(journal, view)));
  if (facts.holders && !facts.holders->empty()) {
    note += fmt::format("; Pods that hold it: {}", describe_pods(*facts.holders));
  }
  if (!facts.neighbours.empty()) note += "; " + facts.neighbours;
  ports_.log.info(note);
  ports_.tell({.warning = false,
               .reason = cluster::reason::kMigChangeAnnounced,
               .action = kAction,
               .note = std::move(note)});
}

void MigAnnouncer::report_unmanaged(AsEvent as_event) {
  report(true, cluster::reason::kMigUnmanaged, "no layout is asked for; the GPUs stay as they are",
         as_event);
}

void MigAnnouncer::report_outcome(const std::string& layout, MigEnd end,
                                  const std::string& trouble) {
  if (trouble.empty()) {
    return report(true, cluster::reason::kMigChanged,
                  fmt::format("the GPUs have the layout {}", layout));
  }
  const bool untouched = end == MigEnd::kUntouched || end == MigEnd::kWaits;
  report(false, untouched ? cluster::reason::kMigNotChanged : cluster::reason::kMigChangeFailed,
         fmt::format("{}: {}", text_of_end(end, layout), trouble));
}

void MigAnnouncer::report(bool good, const char* reason, const std::string& message,
                          AsEvent as_event) {
  const ConditionReport report{.type = cluster::condition::kTrancheMigLayout,
                               .good = good,
                               .reason = reason,
                               .message = message,
                               .action = kAction,
                               .as_event = as_event == AsEvent::kYes};
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
  // Also if unchanged: the writer checks whether the Node still has it.
  if (ports_.report) ports_.report(*reported_);
}

}  // namespace tranche::agent
