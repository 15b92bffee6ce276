#include "agent/mig/mig_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/mig/mig_kept.h"
#include "agent/mig/mig_node.h"

namespace tranche::agent {
namespace {

using Phase = mig::Journal::Phase;

constexpr std::chrono::seconds kApplyAgain{5};
// While a process has a GPU open; it may end at any moment.
constexpr std::chrono::seconds kInUseAgain{2};

std::vector<gpu::GpuUuid> gpus_of(const mig::Layout& layout) {
  std::vector<gpu::GpuUuid> gpus;
  for (const auto& [uuid, ignored] : layout) gpus.push_back(uuid);
  return gpus;
}

bool is_over(const mig::Journal& journal, const std::string& boot) {
  return journal.phase == Phase::kFinished && journal.boot == boot;
}

}  // namespace

MigExecutor::MigExecutor(Options options, Ports ports)
    : options_(std::move(options)),
      ports_(std::move(ports)),
      records_(options_.state_dir, ports_.log),
      progress_{.boot = ports_.boot, .journal = records_.journal(), .outcome = records_.outcome()} {
  serve();
}

bool MigExecutor::restore(const std::optional<cluster::Node>& node, const MigView& view) {
  if (progress_.restored) return true;
  const bool goes_on = progress_.journal && is_on_hardware(progress_.journal->phase);
  if (!node && !goes_on) return false;
  progress_.restored = true;
  if (node && !progress_.outcome) progress_.outcome = outcome_on(*node);
  auto journal = std::exchange(progress_.journal, std::nullopt);
  if (node) journal = later(std::move(journal), journal_on(*node));
  if (journal) {
    ports_.log.info(fmt::format("going on with the change to the MIG layout {}: {}",
                                journal->layout, mig::to_string(journal->phase)));
    if (is_over(*journal, progress_.boot)) progress_.end = end_of(*journal);
  }
  set_journal(std::move(journal), view);
  return true;
}

void MigExecutor::refresh(const MigView& view) {
  auto& applied = progress_.applied;
  if (applied && !*applied && ports_.clock.now() >= apply_again_) applied.reset();
  if (!progress_.is_in(Phase::kAsking) && !progress_.is_in(Phase::kDraining)) return;
  service_.find_neighbours(*progress_.journal, view);
  serve();
}

bool MigExecutor::execute(const MigMove& move, const MigFacts& facts, const MigView& view,
                          const std::stop_token& stop) {
  switch (move.kind) {
    case MigMove::Kind::kWait:
      note_kept(facts);
      return false;
    case MigMove::Kind::kForget:
      forget(facts);
      return true;
    case MigMove::Kind::kSettle:
      settle(*move.outcome);
      return false;
    case MigMove::Kind::kDrift:
      return false;
    case MigMove::Kind::kJournal:
      return take(*move.journal, view, stop);
    case MigMove::Kind::kApply:
      return apply(view, stop);
    case MigMove::Kind::kClose:
      if (move.outcome) settle(*move.outcome);
      progress_.closing = true;
      return true;
  }
  return false;
}

// ---- the journal

// The journal is stored before the phase begins.
bool MigExecutor::take(const mig::Journal& journal, const MigView& view,
                       const std::stop_token& stop) {
  if (!progress_.journal) {
    progress_.forgotten = false;
    ports_.log.info(journal.trouble.empty()
                        ? fmt::format("changing the MIG layout to {}", journal.layout)
                        : "the machine was rebooted: the MIG instances that it had are made again");
  }
  if (!store(journal, view, stop)) return false;
  ports_.log.info(fmt::format("MIG layout {}: {}{}{}", journal.layout,
                              mig::to_string(journal.phase), journal.trouble.empty() ? "" : ": ",
                              journal.trouble));
  if (journal.phase == Phase::kFinished) progress_.end = end_of(journal);
  if (journal.phase == Phase::kVerifying) ports_.read_hardware();
  return true;
}

bool MigExecutor::store(const mig::Journal& journal, const MigView& view,
                        const std::stop_token& stop) {
  auto before = progress_.journal;
  const bool stored = records_.store(journal);
  set_journal(journal, view);
  const bool begins = is_on_hardware(journal.phase) && !(before && is_on_hardware(before->phase));
  if (stored || !begins || ports_.publish(stop)) return true;
  // Stored nowhere: the hardware must not be touched.
  set_journal(std::move(before), view);
  return false;
}

void MigExecutor::set_journal(std::optional<mig::Journal> journal, const MigView& view) {
  const auto& before = progress_.journal;
  const bool begins = journal && (!before || before->id != journal->id);
  if (!journal || !before || before->phase != journal->phase) progress_.applied.reset();
  progress_.journal = std::move(journal);
  if (begins) {
    const auto& to = progress_.journal->to;
    service_.begin(*progress_.journal, read_states(ports_.control, to), view);
  }
  if (!progress_.journal) service_.end();
  serve();
}

void MigExecutor::serve() {
  if (service_.serve(progress_.journal) && progress_.restored) ports_.look_again();
}

bool MigExecutor::close() {
  if (!records_.drop_journal()) return false;
  progress_.closing = false;
  progress_.journal.reset();
  progress_.applied.reset();
  service_.end();
  serve();
  return true;
}

// ---- the outcome

void MigExecutor::settle(MigOutcome outcome) {
  progress_.forgotten = false;
  if (progress_.journal && outcome.failed()) outcome.end = end_of(*progress_.journal);
  outcome.kept = kept_after(outcome, progress_);
  progress_.outcome = std::move(outcome);
  records_.store(*progress_.outcome);
}

void MigExecutor::note_kept(const MigFacts& facts) {
  if (progress_.journal || progress_.of_wish() == nullptr) return;
  auto kept = kept_at_rest(facts, progress_);
  if (kept == progress_.outcome->kept) return;
  progress_.outcome->kept = std::move(kept);
  records_.store(*progress_.outcome);
}

// While a layout is asked for, `kept` outlives the outcome.
void MigExecutor::forget(const MigFacts& facts) {
  progress_.forgotten = true;
  auto& outcome = progress_.outcome;
  if (outcome) outcome = MigOutcome{.kept = std::move(outcome->kept)};
  if (outcome && !facts.label.empty() && !outcome->kept.layout.empty()) {
    return records_.store(*outcome);
  }
  records_.drop_outcome();
  outcome.reset();
}

void MigExecutor::note_told(const cluster::Node& node) {
  const auto* outcome = progress_.of_wish();
  if (outcome == nullptr || outcome->told || progress_.journal) return;
  const auto* said = outcome->failed() ? kMigFailed : kMigSuccess;
  if (cluster::value_of(node.labels, cluster::kMigStateLabel) != said) return;
  progress_.outcome->told = true;
  records_.store(*progress_.outcome);
}

// An undo may find a Pod on a new device that stays. The hardware shows the result.
MigEnd MigExecutor::end_of(const mig::Journal& journal) const {
  if (!journal.touched) return MigEnd::kUntouched;
  const auto now = mig::read_layout(ports_.control, gpus_of(journal.from));
  const auto back = mig::way_back(journal.from, journal.to, ports_.control);
  if (!now || !back) return MigEnd::kUnread;
  const bool undone = std::ranges::all_of(*now, [&](const auto& gpu) {
    return gpu.second == mig::as_it_can_be(back->at(gpu.first), gpu.second);
  });
  if (undone) return MigEnd::kUndone;
  // What a reboot left is nobody's layout.
  const auto* outcome = progress_.of_wish();
  const bool restores = outcome != nullptr && outcome->failed();
  return *now == journal.to && !restores ? MigEnd::kChanged : MigEnd::kBetween;
}

// ---- the hardware

std::function<Result<std::shared_ptr<void>>(bool, const std::stop_token&)> MigExecutor::quiet()
    const {
  if (!ports_.quiet) return {};
  MigQuiet wish;
  for (const auto& [uuid, ignored] : progress_.journal->to) wish.gpus.insert(uuid.value);
  for (const auto& [uuid, ignored] : leaving().neighbours.gpus) wish.gpus.insert(uuid);
  return [this, wish](bool reset, const std::stop_token& stop) mutable {
    wish.reset = reset;
    return ports_.quiet(wish, stop);
  };
}

Result<void> MigExecutor::apply_layout(const MigView& view, const std::stop_token& stop) {
  const auto& journal = *progress_.journal;
  auto to = journal.to;
  if (journal.phase == Phase::kUndoing) {
    ASSIGN_OR_RETURN(to, mig::way_back(journal.from, journal.to, ports_.control));
  }
  const auto& machine = view.machine();
  const mig::Hardware hardware{.control = ports_.control,
                               .reset = ports_.reset,
                               .machine = machine,
                               .users = ports_.users,
                               .quiet = quiet(),
                               .from = &journal.from};
  const mig::Watcher watcher{.step = [&](const mig::Step& step, std::size_t done, std::size_t all) {
    const auto* gpu = gpu::find_gpu(machine, step.gpu);
    if (gpu == nullptr) return;
    ports_.log.info(fmt::format("MIG step {} of {}: {}", done + 1, all,
                                mig::describe(step, gpu->mig_geometry, gpu->index)));
  }};
  const auto until =
      ports_.clock.now() +
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(options_.changing);
  return mig::apply(to, hardware, watcher, until, ports_.clock, stop, options_.retries);
}

bool MigExecutor::apply(const MigView& view, const std::stop_token& stop) {
  auto applied = apply_layout(view, stop);
  if (!applied && stop.stop_requested()) return false;  // the next agent goes on
  const bool back = progress_.is_in(Phase::kUndoing);
  if (!applied && back) ports_.log.warn(applied.error());
  const bool in_use = !applied && applied.error().code == Code::kFailedPrecondition;
  apply_again_ = ports_.clock.now() + (in_use && !back ? kInUseAgain : kApplyAgain);
  progress_.applied = std::move(applied);
  return true;
}

}  // namespace tranche::agent
