#include "agent/mig/mig_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/first_few.h"

namespace tranche::agent {
namespace {

using Kind = MigMove::Kind;
using mig::Journal;
using Phase = Journal::Phase;

// Reason for giving up a change that is no failure of its wish.
constexpr const char* kRebooted = "the machine was rebooted before anything was changed";
constexpr const char* kOtherWish = "the label of the Node asks for something else now";

constexpr std::size_t kMostNames = 8;

cluster::WallTime in(const MigFacts& facts, std::chrono::nanoseconds time) {
  return facts.now + std::chrono::duration_cast<cluster::WallTime::duration>(time);
}

// A change's id begins with its wish's key, so the wish is known after a restart, too.
std::string id_of(const MigFacts& facts) {
  const auto since = facts.now.time_since_epoch();
  return fmt::format("{}-{}", *facts.wish,
                     std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}
std::string wish_of(const Journal& journal) { return journal.id.substr(0, journal.id.rfind('-')); }

MigMove to_phase(Journal journal, Phase phase, cluster::WallTime deadline) {
  journal.phase = phase;
  journal.touched |= is_on_hardware(phase);
  journal.deadline = deadline;
  return {.kind = Kind::kJournal, .journal = std::move(journal)};
}

MigMove finish(Journal journal, const MigFacts& facts, const MigSettings& settings,
               std::string trouble = {}) {
  if (!trouble.empty()) journal.trouble = std::move(trouble);
  journal.boot = facts.boot;
  return to_phase(std::move(journal), Phase::kFinished, in(facts, settings.times.uncordoning));
}

MigMove undo(Journal journal, const MigFacts& facts, const MigSettings& settings,
             std::string trouble) {
  journal.trouble = std::move(trouble);
  return to_phase(std::move(journal), Phase::kUndoing,
                  in(facts, settings.times.drain + settings.times.changing));
}

MigMove settle(const MigFacts& facts, std::string trouble) {
  return {.kind = Kind::kSettle,
          .outcome = MigOutcome{.label = facts.label,
                                .wish = *facts.wish,
                                .trouble = std::move(trouble),
                                .boot = facts.boot,
                                .accepted = facts.accepted}};
}

MigMove begin(const MigFacts& facts, const MigSettings& settings, Phase phase) {
  const auto& times = settings.times;
  const auto time = phase == Phase::kAsking ? times.asking : times.changing;
  return {.kind = Kind::kJournal,
          .journal = Journal{.id = id_of(facts),
                             .layout = facts.label,
                             .phase = phase,
                             .from = *facts.plan ? (*facts.plan)->from : mig::Layout(),
                             .to = *facts.plan ? (*facts.plan)->to : mig::Layout(),
                             .started = facts.now,
                             .deadline = in(facts, time),
                             .boot = facts.boot,
                             .touched = is_on_hardware(phase),
                             .trouble = {}}};
}

// A reboot has destroyed the layout in force: restores it, except where somebody has set the mode.
// Asks nobody if no container holds the GPUs yet.
MigMove restore(const MigFacts& facts, const MigSettings& settings) {
  auto left = facts;
  for (const auto& [gpu, ignored] : facts.set_by_others) {
    (*left.plan)->from.erase(gpu);
    (*left.plan)->to.erase(gpu);
  }
  if ((*left.plan)->empty()) return {.kind = Kind::kDrift};
  if (!facts.holders) return {};
  return begin(left, settings, facts.holders->empty() ? Phase::kChanging : Phase::kAsking);
}

// Asks nobody and drains nothing: the GPUs get the mode when the machine boots.
MigMove wait_for_reboot(const MigFacts& facts) {
  const auto& outcome = facts.outcome;
  if (outcome && outcome->end == MigEnd::kWaits && outcome->trouble == facts.reboot) return {};
  auto move = settle(facts, facts.reboot);
  move.outcome->end = MigEnd::kWaits;
  return move;
}

bool may_go_on(const MigFacts& facts) {
  const auto& outcome = facts.outcome;
  if (!outcome || !outcome->failed() || !facts.plan) return false;
  return facts.mode_came || (outcome->end == MigEnd::kWaits && facts.reboot.empty());
}

// A reboot has destroyed what existed before a failed change. Restores it like an undo, except what
// is held by now: whoever asked for the layout may ask again.
MigMove make_kept_again(const MigFacts& facts, const MigSettings& settings) {
  if (!facts.holders || !facts.holders->empty()) return {};
  auto move = begin(facts, settings, Phase::kAsking);
  move.journal->from = facts.lost->to;
  move.journal->to = facts.lost->from;
  return undo(*std::move(move.journal), facts, settings, facts.outcome->trouble);
}

MigMove without_journal(const MigFacts& facts, const MigSettings& settings) {
  if (!facts.node_known || !facts.wish) return {};
  const auto& outcome = facts.outcome;
  const bool edited = is_edited(facts);
  const bool over = outcome && outcome->wish != *facts.wish && !edited;
  const bool asked_again = outcome && outcome->told && facts.state.empty();
  const bool accepted = outcome && outcome->failed() && facts.accepted && !outcome->accepted;
  if (over || asked_again || accepted) return {.kind = Kind::kForget};
  if (facts.wish->empty() || !facts.plan) return {};
  if (may_go_on(facts)) return {.kind = Kind::kForget};
  const bool lost = outcome && outcome->failed() && facts.lost && !facts.lost->empty();
  if (lost) return make_kept_again(facts, settings);
  if (!*facts.plan) {
    if (outcome) return {.kind = edited ? Kind::kDrift : Kind::kWait};
    return settle(facts, facts.plan->error().message());
  }
  if ((*facts.plan)->empty()) {
    // GPUs that could not be restored have the layout, but that is no success.
    const bool known = outcome && (outcome->failed() || outcome->boot == facts.boot) && !edited;
    return known ? MigMove{} : settle(facts, {});
  }
  if (!facts.reboot.empty() && (!outcome || outcome->failed())) return wait_for_reboot(facts);
  if (!outcome) return begin(facts, settings, Phase::kAsking);
  if (outcome->failed()) return {};
  if (outcome->boot != facts.boot) return restore(facts, settings);
  return {.kind = Kind::kDrift};
}

// Why a change that has changed nothing yet is given up; empty: it is not.
std::string given_up(const Journal& journal, const MigFacts& facts) {
  if (facts.wish && *facts.wish != wish_of(journal)) return kOtherWish;
  if (journal.boot != facts.boot) return kRebooted;
  const bool refused = facts.answer && facts.answer->answer == cluster::MigDrain::Answer::kRefused;
  if (!refused) return {};
  return facts.answer->reason.empty() ? "the controller refuses it" : facts.answer->reason;
}

std::string neighbours_text(const MigFacts& facts) {
  return facts.neighbours.empty() ? "" : "; " + facts.neighbours;
}

constexpr const char* kSilent = "kubelet does not tell who holds devices (pod-resources)";

MigMove ask(const Journal& journal, const MigFacts& facts, const MigSettings& settings) {
  if (auto why = given_up(journal, facts); !why.empty()) {
    return finish(journal, facts, settings, std::move(why));
  }
  const auto drain = [&] {
    return to_phase(journal, Phase::kDraining, in(facts, settings.times.drain));
  };
  if (facts.answer) return drain();
  if (settings.controller && facts.now < journal.deadline) return {};
  if (facts.holders && facts.holders->empty()) return drain();
  if (facts.holders) {
    return finish(journal, facts, settings,
                  fmt::format("Pods hold what leaves service ({}), and no controller answers that "
                              "could move them: end them, or install the controller{}",
                              describe_pods(*facts.holders), neighbours_text(facts)));
  }
  const auto longest = journal.started + std::chrono::duration_cast<cluster::WallTime::duration>(
                                             settings.times.asking + settings.times.drain);
  if (facts.now < longest) return {};
  return finish(journal, facts, settings, kSilent);
}

std::string not_drained(const MigFacts& facts) {
  if (!facts.holders) return kSilent;
  if (facts.holders->empty()) return "kubelet still gives out devices that leave service";
  auto text =
      fmt::format("Pods still hold what leaves service after the time that they are given: {}",
                  describe_pods(*facts.holders)) +
      neighbours_text(facts);
  if (!facts.answer) return text + "; no controller moves them";
  for (const auto& blocked : facts.answer->blocked) {
    if (std::ranges::find(*facts.holders, blocked.pod) == facts.holders->end()) continue;
    text += fmt::format("; {}/{}: {}", blocked.pod.ns, blocked.pod.name, blocked.why);
  }
  return text;
}

MigMove drain(const Journal& journal, const MigFacts& facts, const MigSettings& settings) {
  if (auto why = given_up(journal, facts); !why.empty()) {
    return finish(journal, facts, settings, std::move(why));
  }
  const bool late = facts.now >= journal.deadline;
  const bool cordoned = !facts.answer || facts.answer->cordoned;
  const bool drained = facts.withheld && facts.holders && facts.holders->empty();
  const bool alone = facts.clients && facts.clients->empty();
  // Neither a controller that left after its answer nor a client that stays open stops a change
  // that harms nobody: the driver refuses what is open.
  if (drained && ((cordoned && alone) || late)) {
    return to_phase(journal, Phase::kChanging, in(facts, settings.times.changing));
  }
  return late ? finish(journal, facts, settings, not_drained(facts)) : MigMove{};
}

// A process that has a GPU open may be about to end, or a reader of the message ends it. A newer
// wish is not kept waiting.
bool waits_for_users(const Journal& journal, const MigFacts& facts, const MigSettings& settings) {
  const bool in_use = facts.applied->error().code == Code::kFailedPrecondition;
  const bool wanted = !facts.wish || *facts.wish == wish_of(journal);
  return in_use && wanted && facts.now < in_use_until(journal, settings.times);
}

// Pods hold something only if an agent lost its disk and offered the devices until it knew of the
// change, or if somebody wrote the journal into the annotation.
MigMove change_what_nobody_holds(const Journal& journal, const MigFacts& facts,
                                 const MigSettings& settings) {
  if (!facts.holders || facts.holders->empty()) return {.kind = Kind::kApply};
  return undo(journal, facts, settings,
              fmt::format("Pods got what leaves service: {}", describe_pods(*facts.holders)));
}

MigMove change(const Journal& journal, const MigFacts& facts, const MigSettings& settings) {
  if (!facts.applied) return change_what_nobody_holds(journal, facts, settings);
  if (*facts.applied) {
    auto next = to_phase(journal, Phase::kVerifying, in(facts, settings.times.verifying));
    next.journal->boot = facts.boot;
    return next;
  }
  if (waits_for_users(journal, facts, settings)) return {};
  return undo(journal, facts, settings, facts.applied->error().message());
}

MigMove verify(const Journal& journal, const MigFacts& facts, const MigSettings& settings) {
  if (journal.boot != facts.boot) {
    return to_phase(journal, Phase::kChanging, in(facts, settings.times.changing));
  }
  if (facts.verified) return finish(journal, facts, settings);
  // The hardware is right, and a kubelet that is away reads the list when it is back.
  const bool silent = facts.verified.error().code == Code::kUnavailable;
  const auto longest =
      journal.deadline + (silent ? settings.times.uncordoning : std::chrono::nanoseconds(0));
  if (facts.now < longest) return {};
  return undo(journal, facts, settings, facts.verified.error().message());
}

std::string not_undone(const Journal& journal, const std::string& why) {
  return fmt::format("{}; the old layout could not be made again: {}", journal.trouble, why);
}

// A Pod may have got a new device while verifying. The driver refuses what is in use, so a silent
// kubelet does not leave the GPUs between layouts.
MigMove drain_again(const Journal& journal, const MigFacts& facts, const MigSettings& settings) {
  const bool drained = facts.withheld && facts.holders && facts.holders->empty();
  const bool late = facts.now >= undo_drained_by(journal, settings.times);
  const bool held = facts.holders && !facts.holders->empty();
  if (drained || (late && !held)) return {.kind = Kind::kApply};
  return late ? finish(journal, facts, settings, not_undone(journal, not_drained(facts)))
              : MigMove{};
}

MigMove take_back(const Journal& journal, const MigFacts& facts, const MigSettings& settings) {
  if (!facts.applied) return drain_again(journal, facts, settings);
  if (*facts.applied) return finish(journal, facts, settings);
  if (facts.now < journal.deadline) return {};
  return finish(journal, facts, settings, not_undone(journal, facts.applied->error().message()));
}

// The reboot destroyed the layout of the ended change. Modes that somebody set since stay.
MigMove make_again(Journal journal, const MigFacts& facts, const MigSettings& settings) {
  const bool back = !journal.trouble.empty();
  for (const auto& [gpu, layout] : facts.set_by_others) {
    (back ? journal.from : journal.to).insert_or_assign(gpu, layout);
  }
  if (back) return undo(journal, facts, settings, journal.trouble);
  return to_phase(std::move(journal), Phase::kChanging, in(facts, settings.times.changing));
}

MigMove close(const Journal& journal, const MigFacts& facts, const MigSettings& settings) {
  const bool given_up = journal.trouble == kRebooted || journal.trouble == kOtherWish;
  if (!given_up && journal.boot != facts.boot) return make_again(journal, facts, settings);
  if (!facts.node_known) return {};
  const auto& answer = facts.answer;
  const bool cordoned = answer && answer->cordoned && !answer->uncordoned;
  if (cordoned && facts.now < journal.deadline) return {};
  MigMove move{.kind = Kind::kClose};
  if (given_up) return move;
  move.outcome = MigOutcome{.label = journal.layout,
                            .wish = wish_of(journal),
                            .trouble = journal.trouble,
                            .boot = facts.boot,
                            .accepted = facts.accepted};
  return move;
}

}  // namespace

namespace {

std::chrono::nanoseconds longest(Phase phase, const MigTimes& times) {
  switch (phase) {
    case Phase::kAsking:
      return times.asking;
    case Phase::kDraining:
      return times.drain;
    case Phase::kChanging:
      return times.changing;
    case Phase::kVerifying:
      return times.verifying;
    case Phase::kUndoing:
      return times.drain + times.changing;
    case Phase::kFinished:
      break;
  }
  return times.uncordoning;
}

// A clock that was set back, or a journal that somebody wrote into the annotation, must not keep a
// change open for longer than its phase may last.
std::optional<MigMove> bring_back_to_now(const Journal& journal, const MigFacts& facts,
                                         const MigSettings& settings) {
  constexpr std::chrono::minutes kSlack{1};  // for small corrections of the clock
  const auto latest = in(facts, longest(journal.phase, settings.times));
  if (journal.deadline <= latest + kSlack && journal.started <= facts.now + kSlack) return {};
  auto move = to_phase(journal, journal.phase, std::min(journal.deadline, latest));
  move.journal->started = std::min(journal.started, facts.now);
  return move;
}

}  // namespace

bool is_edited(const MigFacts& facts) {
  const auto& outcome = facts.outcome;
  return outcome && !outcome->failed() && outcome->label == facts.label &&
         outcome->wish != facts.wish;
}

bool is_on_hardware(Phase phase) {
  using enum Journal::Phase;
  return phase == kChanging || phase == kVerifying || phase == kUndoing;
}

cluster::WallTime in_use_until(const Journal& journal, const MigTimes& times) {
  const auto spare = times.changing - std::min(times.changing, times.drain);
  return journal.deadline - std::chrono::duration_cast<cluster::WallTime::duration>(spare);
}

cluster::WallTime undo_drained_by(const Journal& journal, const MigTimes& times) {
  return journal.deadline - std::chrono::duration_cast<cluster::WallTime::duration>(times.changing);
}

MigMove next_move(const std::optional<Journal>& journal, const MigFacts& facts,
                  const MigSettings& settings) {
  if (!journal) return without_journal(facts, settings);
  if (auto move = bring_back_to_now(*journal, facts, settings)) return *std::move(move);
  switch (journal->phase) {
    case Phase::kAsking:
      return ask(*journal, facts, settings);
    case Phase::kDraining:
      return drain(*journal, facts, settings);
    case Phase::kChanging:
      return change(*journal, facts, settings);
    case Phase::kVerifying:
      return verify(*journal, facts, settings);
    case Phase::kUndoing:
      return take_back(*journal, facts, settings);
    case Phase::kFinished:
      return close(*journal, facts, settings);
  }
  return {};
}

std::string describe_pods(const std::vector<cluster::ObjectKey>& pods) {
  std::vector<std::string> names;
  for (const auto& pod : pods) {
    names.push_back(pod.name.empty() ? "a container that kubelet does not name"
                                     : fmt::format("{}/{}", pod.ns, pod.name));
  }
  return first_few(names, kMostNames);
}

}  // namespace tranche::agent
