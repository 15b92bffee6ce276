// What MigManager does with each decision.

#include "agent/mig/mig_manager.h"

#include <fmt/format.h>

#include <utility>

#include "cluster/reasons.h"

namespace tranche::agent {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kApplyAgain{5};
// Where a process has a GPU open, which may end at any moment.
constexpr std::chrono::seconds kInUseAgain{2};
constexpr int kMostSteps = 16;  // of one turn

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

MigManager::MigManager(Options options, Ports ports)
    : options_(std::move(options)),
      ports_(std::move(ports)),
      files_(options_.state_dir),
      boot_(ports_.boot()) {
  if (auto outcome = files_.outcome()) {
    outcome_ = *std::move(outcome);
  } else {
    ports_.log.warn(
        std::move(outcome).error().with_context("what became of the last MIG layout is not known"));
  }
  if (auto journal = files_.journal()) {
    journal_ = *std::move(journal);
  } else {
    ports_.log.warn(
        std::move(journal).error().with_context("the journal of a MIG change cannot be read"));
  }
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
  // It is as a change that begins: who holds what leaves service has to be found out.
  auto stored = std::exchange(journal_, std::nullopt);
  auto journal = node ? later(std::move(stored), journal_on(*node)) : std::move(stored);
  if (journal) {
    ports_.log.info(fmt::format("going on with the change to the MIG layout {}: {}",
                                journal->layout, mig::to_string(journal->phase)));
  }
  set_journal(std::move(journal));
  // The agent before this one may have ended with the journal written and nobody told.
  const bool over = journal_ && journal_->phase == Phase::kFinished && journal_->boot == boot_;
  if (over) on_finished(*journal_);
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
      if (!journal_) note_kept(facts);
      // By the condition everybody sees that this node has a manager.
      if (!journal_ && outcome() == nullptr && facts.node_known && facts.label.empty()) {
        report_unmanaged(false);
      }
      return false;
    case MigMove::Kind::kForget:
      forget(facts);
      return true;
    case MigMove::Kind::kSettle:
      settle(*move.outcome);
      return false;
    case MigMove::Kind::kDrift:
      report(false, cluster::reason::kMigLayoutDrift, text_of_drift(facts));
      return false;
    case MigMove::Kind::kJournal:
      return take(*move.journal, facts, stop);
    case MigMove::Kind::kApply:
      return apply(stop);
    case MigMove::Kind::kClose:
      if (move.outcome) settle(*move.outcome);
      if (!move.outcome && facts.wish && facts.wish->empty()) report_unmanaged(true);
      closing_ = true;
      return end_change(stop);
  }
  return false;
}

// The journal is somewhere safe before the phase begins.
bool MigManager::take(const mig::Journal& journal, const MigFacts& facts,
                      const std::stop_token& stop) {
  if (!journal_) {
    forgotten_ = false;
    ports_.log.info(journal.trouble.empty()
                        ? fmt::format("changing the MIG layout to {}", journal.layout)
                        : "the machine was rebooted: the MIG instances that it had are made again");
  }
  const bool begins = !journal_ || journal_->phase != journal.phase;
  if (!store(journal, stop)) return false;
  ports_.log.info(fmt::format("MIG layout {}: {}{}{}", journal.layout,
                              mig::to_string(journal.phase), journal.trouble.empty() ? "" : ": ",
                              journal.trouble));
  if (journal.phase == Phase::kDraining && begins) announce(facts);
  if (journal.phase == Phase::kFinished) on_finished(journal);
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
  const bool begins = is_on_hardware(journal.phase) && !(before && is_on_hardware(before->phase));
  if (stored || !begins || publish(stop)) return true;
  // Nowhere: nothing on the hardware may begin.
  set_journal(std::move(before));
  return false;
}

std::function<Result<std::shared_ptr<void>>(bool, const std::stop_token&)> MigManager::quiet()
    const {
  if (!ports_.quiet) return {};
  MigQuiet wish;
  for (const auto& [uuid, ignored] : journal_->to) wish.gpus.insert(uuid.value);
  for (const auto& [uuid, ignored] : leaving_.beside) wish.gpus.insert(uuid);
  return [this, wish](bool reset, const std::stop_token& stop) mutable {
    wish.reset = reset;
    return ports_.quiet(wish, stop);
  };
}

bool MigManager::apply(const std::stop_token& stop) {
  const auto view = this->view();
  if (view == nullptr) return false;
  const bool back = journal_->phase == Phase::kUndoing;
  const mig::Hardware hardware{.control = ports_.control,
                               .reset = ports_.reset,
                               .machine = *view->state.machine,
                               .users = ports_.users,
                               .quiet = quiet(),
                               .from = &journal_->from};
  const mig::Watcher watcher{.step = [&](const mig::Step& step, std::size_t done, std::size_t all) {
    const auto* gpu = gpu::find_gpu(*view->state.machine, step.gpu);
    if (gpu == nullptr) return;
    ports_.log.info(fmt::format("MIG step {} of {}: {}", done + 1, all,
                                mig::describe(step, gpu->mig_geometry, gpu->index)));
  }};
  const auto until =
      ports_.clock.now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                               options_.settings.times.changing);
  const auto to = back ? mig::way_back(journal_->from, journal_->to, ports_.control)
                       : Result<mig::Layout>(journal_->to);
  auto applied =
      to ? mig::apply(*to, hardware, watcher, until, ports_.clock, stop, options_.retries)
         : Result<void>(std::unexpected(to.error()));
  if (!applied && stop.stop_requested()) return false;  // the next agent goes on
  if (!applied && back) ports_.log.warn(applied.error());
  const bool in_use = !applied && applied.error().code == Code::kFailedPrecondition;
  apply_again_ = ports_.clock.now() + (in_use && !back ? kInUseAgain : kApplyAgain);
  applied_ = std::move(applied);
  return true;
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
