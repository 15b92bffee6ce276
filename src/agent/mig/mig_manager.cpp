#include "agent/mig/mig_manager.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "cluster/reasons.h"

namespace tranche::agent {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kLongestWrite{2};
constexpr std::chrono::seconds kApplyAgain{5};
constexpr int kMostSteps = 16;  // of one turn

bool is_on_hardware(mig::Journal::Phase phase) {
  using enum mig::Journal::Phase;
  return phase == kChanging || phase == kVerifying || phase == kUndoing;
}

}  // namespace

MigManager::MigManager(Options options, Ports ports)
    : options_(std::move(options)),
      ports_(std::move(ports)),
      files_(options_.state_dir),
      boot_(ports_.boot()) {
  auto outcome = files_.outcome();
  if (!outcome)
    ports_.log.warn(
        std::move(outcome).error().with_context("what became of the last MIG layout is not known"));
  if (outcome) outcome_ = *std::move(outcome);
  auto journal = files_.journal();
  if (!journal)
    ports_.log.warn(
        std::move(journal).error().with_context("the journal of a MIG change cannot be read"));
  if (journal) journal_ = *std::move(journal);
  serve();
}

milliseconds MigManager::turn(const std::stop_token& stop) {
  if (!restore()) return milliseconds(200);
  for (int i = 0; i < kMostSteps && !stop.stop_requested(); ++i) {
    const bool more = step(stop);
    if (!stop.stop_requested()) publish(stop);
    if (!more) break;
  }
  note_told();
  return wait();
}

// The disk may have lacked room when the Node took the text, and the other way round.
bool MigManager::restore() {
  if (restored_) return true;
  if (view() == nullptr) return false;
  const auto node = ports_.node();
  const bool goes_on = journal_ && is_on_hardware(journal_->phase);
  if (!node && !goes_on) return false;
  restored_ = true;
  if (node && !outcome_) outcome_ = outcome_on(*node);
  auto journal = node ? later(journal_, journal_on(*node)) : journal_;
  if (journal) {
    ports_.log.info(fmt::format("going on with the change to the MIG layout {}: {}",
                                journal->layout, mig::to_string(journal->phase)));
  }
  set_journal(std::move(journal));
  return true;
}

bool MigManager::step(const std::stop_token& stop) {
  if (closing_) return end_change(stop);
  if (journal_ && applied_ && !*applied_ && ports_.clock.now() >= apply_again_) applied_.reset();
  const auto facts = gather();
  return act(next_move(journal_, facts, options_.settings), facts, stop);
}

bool MigManager::act(const MigMove& move, const MigFacts& facts, const std::stop_token& stop) {
  switch (move.kind) {
    case MigMove::Kind::kWait:
      if (!journal_ && outcome_ && !outcome_->failed() && facts.plan && *facts.plan &&
          (*facts.plan)->empty()) {
        report(true, cluster::reason::kMigChanged,
               fmt::format("the GPUs have the layout {}", outcome_->label));
      }
      return false;
    case MigMove::Kind::kForget:
      forget(facts);
      return true;
    case MigMove::Kind::kSettle:
      settle(*move.outcome);
      return false;
    case MigMove::Kind::kDrift:
      report(
          false, cluster::reason::kMigLayoutDrift,
          fmt::format("the GPUs do not have the layout {} any more: somebody changed it by hand; "
                      "it is left so. Remove the label {} to have it applied again",
                      facts.label, cluster::kMigStateLabel));
      return false;
    case MigMove::Kind::kJournal:
      return take(*move.journal, facts, stop);
    case MigMove::Kind::kApply:
      return apply(stop);
    case MigMove::Kind::kClose:
      if (move.outcome) settle(*move.outcome);
      closing_ = true;
      return end_change(stop);
  }
  return false;
}

// The journal is somewhere safe before the phase begins.
bool MigManager::take(const mig::Journal& journal, const MigFacts& facts,
                      const std::stop_token& stop) {
  const auto before = journal_ ? journal_->phase : Phase::kAsking;
  if (!journal_) {
    forgotten_ = false;
    ports_.log.info(fmt::format("changing the MIG layout to {}", journal.layout));
  }
  if (!store(journal, stop)) return false;
  ports_.log.info(fmt::format("MIG layout {}: {}{}{}", journal.layout,
                              mig::to_string(journal.phase), journal.trouble.empty() ? "" : ": ",
                              journal.trouble));
  if (journal.phase == Phase::kDraining) announce(facts);
  if (journal.phase == Phase::kFinished) on_finished(journal, before);
  if (journal.phase == Phase::kVerifying) ports_.read_hardware();
  return true;
}

bool MigManager::store(const mig::Journal& journal, const std::stop_token& stop) {
  auto before = journal_;
  const auto stored = files_.store(journal);
  if (!stored && said_.is_news("journal", stored.error().what)) {
    ports_.log.warn(
        fmt::format("the journal of a MIG change is not on disk: {}", stored.error().message()));
  }
  if (stored) said_.forget("journal");
  set_journal(journal);
  const bool begins =
      journal.phase == Phase::kChanging && !(before && is_on_hardware(before->phase));
  if (stored || !begins || publish(stop)) return true;
  // Nowhere: nothing on the hardware may begin.
  set_journal(std::move(before));
  return false;
}

void MigManager::announce(const MigFacts& facts) const {
  // A controller that answers has announced it.
  if (!ports_.tell || facts.answer) return;
  std::vector<std::string> parts;
  for (const auto& [resource, count] : before_) {
    const auto found = after_.find(resource);
    const auto then = found == after_.end() ? 0 : found->second;
    if (then != count) parts.push_back(fmt::format("{} {} -> {}", resource, count, then));
  }
  for (const auto& [resource, count] : after_) {
    if (!before_.contains(resource)) parts.push_back(fmt::format("{} 0 -> {}", resource, count));
  }
  auto note = fmt::format("MIG layout {}: {}", journal_->layout, fmt::join(parts, ", "));
  if (facts.holders && !facts.holders->empty()) {
    note += fmt::format("; Pods that hold it: {}", describe_pods(*facts.holders));
  }
  ports_.log.info(note);
  ports_.tell({.warning = false,
               .reason = cluster::reason::kMigChangeAnnounced,
               .action = "ChangeMigLayout",
               .note = std::move(note)});
}

void MigManager::on_finished(const mig::Journal& journal, Phase before) {
  if (journal.trouble.empty()) {
    report(true, cluster::reason::kMigChanged,
           fmt::format("the GPUs have the layout {}", journal.layout));
    return;
  }
  const bool untouched = before == Phase::kAsking || before == Phase::kDraining;
  report(false, untouched ? cluster::reason::kMigNotChanged : cluster::reason::kMigChangeFailed,
         fmt::format("{}: {}",
                     untouched ? fmt::format("the layout {} is not in force; nothing was changed",
                                             journal.layout)
                               : end_of_undo(journal),
                     journal.trouble));
}

// An undo may find a Pod on a new device that does not go. The hardware knows what became of it.
std::string MigManager::end_of_undo(const mig::Journal& journal) const {
  std::vector<gpu::GpuUuid> gpus;
  for (const auto& [uuid, ignored] : journal.from) gpus.push_back(uuid);
  const auto now = mig::read_layout(ports_.control, gpus);
  const auto& name = journal.layout;
  if (!now) return fmt::format("the change to the layout {} failed, and was not undone", name);
  if (*now == journal.from) {
    return fmt::format("the layout {} is not in force; the change was undone", name);
  }
  return *now == journal.to
             ? fmt::format("the GPUs have the layout {}, but the change to it failed", name)
             : fmt::format("the GPUs have neither the layout {} nor the one before it", name);
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

void MigManager::settle(const MigOutcome& outcome) {
  forgotten_ = false;
  outcome_ = outcome;
  keep_outcome();
  if (journal_) return;
  if (outcome.failed()) {
    report(false, cluster::reason::kMigNotChanged,
           fmt::format("the layout {} is not in force; nothing was changed: {}", outcome.label,
                       outcome.trouble));
    return;
  }
  report(true, cluster::reason::kMigChanged,
         fmt::format("the GPUs have the layout {}", outcome.label));
}

void MigManager::forget(const MigFacts& facts) {
  if (const auto dropped = files_.drop_outcome(); !dropped) ports_.log.warn(dropped.error());
  outcome_.reset();
  planned_.reset();
  forgotten_ = true;
  if (!facts.label.empty()) return;
  report(true, cluster::reason::kMigUnmanaged, "no layout is asked for; the GPUs stay as they are");
}

// From here on the label's absence means that a person removed it.
void MigManager::note_told() {
  if (!outcome_ || outcome_->told || journal_) return;
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

bool MigManager::apply(const std::stop_token& stop) {
  const auto view = this->view();
  if (view == nullptr) return false;
  const bool back = journal_->phase == Phase::kUndoing;
  const mig::Hardware hardware{.control = ports_.control,
                               .reset = ports_.reset,
                               .machine = *view->state.machine,
                               .holders = ports_.users,
                               .quiet = ports_.quiet};
  const mig::Watcher watcher{.step = [&](const mig::Step& step, std::size_t done, std::size_t all) {
    const auto* gpu = gpu::find_gpu(*view->state.machine, step.gpu);
    if (gpu == nullptr) return;
    ports_.log.info(fmt::format("MIG step {} of {}: {}", done + 1, all,
                                mig::describe(step, gpu->mig_geometry, gpu->index)));
  }};
  const auto until =
      ports_.clock.now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                               options_.settings.times.changing);
  auto applied = mig::apply(back ? journal_->from : journal_->to, hardware, watcher, until,
                            ports_.clock, stop, options_.retries);
  if (!applied && stop.stop_requested()) return false;  // the next agent goes on
  if (!applied && back) ports_.log.warn(applied.error());
  apply_again_ = ports_.clock.now() + kApplyAgain;
  applied_ = std::move(applied);
  return true;
}

bool MigManager::publish(const std::stop_token& stop) {
  if (!restored_) return false;
  const auto node = ports_.node();
  if (!node) return false;
  auto change = difference(texts(*node), *node);
  if (!change) {
    sent_.reset();
    return true;
  }
  // What was written just now is not in the view yet.
  const bool lags = sent_ && sent_->version == node->resource_version &&
                    sent_->labels == change->labels && sent_->annotations == change->annotations;
  if (lags) return true;
  // What became of a wish is not said of one that was made meanwhile.
  if (!journal_ || closing_) change->resource_version = node->resource_version;
  if (!ports_.write(*change, {.deadline = kLongestWrite, .stop = stop})) return false;
  sent_ = Sent{node->resource_version, change->labels, change->annotations};
  return true;
}

MigTexts MigManager::texts(const cluster::Node& node) {
  if (journal_ && !closing_) {
    return {.state = kMigPending,
            .change = change_text(node),
            .pause = journal_->phase == Phase::kDraining || is_on_hardware(journal_->phase)};
  }
  change_.reset();
  if (outcome_) {
    // Of another wish, and of a state that a person removed, the next decision tells.
    const auto& state = cluster::value_of(node.labels, cluster::kMigStateLabel);
    const bool stands =
        cluster::value_of(node.labels, cluster::kMigConfigLabel) == outcome_->label &&
        !(outcome_->told && state.empty());
    MigTexts texts{.state = std::nullopt, .change = {}, .outcome = outcome_};
    if (stands) texts.state = outcome_->failed() ? kMigFailed : kMigSuccess;
    return texts;
  }
  // A change that was given up leaves no state that somebody would wait for without end.
  const bool stale = cluster::value_of(node.labels, cluster::kMigStateLabel) == kMigPending;
  return {.state = forgotten_ || stale ? std::optional<std::string>("") : std::nullopt,
          .change = {}};
}

// Its time is the one at which it was last different, or renewed, so that the same text is written
// once.
cluster::MigChange MigManager::change_text(const cluster::Node& node) {
  const auto now = ports_.clock.wall_now();
  const bool accepted =
      cluster::value_of(node.annotations, cluster::kMigAcceptOutageAnnotation) == journal_->layout;
  const bool drains_again = journal_->phase == Phase::kUndoing && !pods_.empty();
  cluster::MigChange change{
      .id = journal_->id,
      .layout = journal_->layout,
      .phase = drains_again ? cluster::MigPhase::kDraining : phase_for_controller(journal_->phase),
      .written_at = now,
      .deadline =
          drains_again ? undo_drained_by(*journal_, options_.settings.times) : journal_->deadline,
      .accept_outage = accepted,
      .failed = !journal_->trouble.empty(),
      .before = before_,
      .after = after_,
      .pods = pods_,
      .journal = mig::encode(*journal_)};
  if (change_ && now < change_->written_at + cluster::MigChange::kRefresh) {
    change.written_at = change_->written_at;
    if (change != *change_) change.written_at = now;
  }
  change_ = change;
  return change;
}

void MigManager::report(bool good, const char* reason, const std::string& message) {
  ConditionReport report{.type = cluster::condition::kTrancheMigLayout,
                         .good = good,
                         .reason = reason,
                         .message = message,
                         .action = "ChangeMigLayout",
                         .written_while_good = reason != cluster::reason::kMigUnmanaged};
  if (reported_ == report) return;
  reported_ = report;
  if (good) {
    ports_.log.info(message);
  } else {
    ports_.log.error(message);
  }
  if (ports_.report) ports_.report(report);
}

std::string MigManager::remark() const {
  const std::scoped_lock lock(mutex_);
  return remark_;
}

milliseconds MigManager::wait() const {
  if (!journal_) return std::chrono::seconds(2);
  switch (journal_->phase) {
    case Phase::kDraining:
    case Phase::kUndoing:
      return milliseconds(200);
    case Phase::kVerifying:
      return milliseconds(30);
    default:
      return milliseconds(500);
  }
}

}  // namespace tranche::agent
