#include "agent/mig/mig_machine.h"

#include <gtest/gtest.h>

namespace tranche::agent::mig_machine_test {
namespace {

using cluster::MigDrain;
using cluster::MigHolder;
using Kind = MigMove::Kind;
using mig::Journal;
using Phase = Journal::Phase;

const gpu::GpuUuid kGpu{"GPU-1"};
const std::vector<MigHolder> kNobody;
const std::vector<MigHolder> kOne = {{"default", "train"}};

mig::Layout off() { return {{kGpu, {}}}; }
mig::Layout halves() { return {{kGpu, {.enabled = true, .instances = {{9, {0, 4}, {3}}}}}}; }
MigPlan plan() { return {.from = off(), .to = halves()}; }

MigFacts facts() {
  return {.now = cluster::WallTime(std::chrono::hours(1)),
          .boot = "boot-1",
          .node_known = true,
          .label = "all-3g.40gb",
          .wish = "w"};
}

Journal journal(Phase phase) {
  return {.id = "w-3600000",
          .layout = "all-3g.40gb",
          .phase = phase,
          .from = off(),
          .to = halves(),
          .started = facts().now,
          .deadline = facts().now + std::chrono::minutes(1),
          .boot = "boot-1",
          .trouble = {}};
}

MigDrain accepted() { return {.id = "w-3600000", .cordoned = true}; }

MigMove next(const std::optional<Journal>& journal, const MigFacts& facts) {
  return next_move(journal, facts, {});
}
std::optional<Phase> phase_after(const Journal& journal, const MigFacts& facts) {
  const auto move = next(journal, facts);
  return move.kind == Kind::kJournal ? std::optional(move.journal->phase) : std::nullopt;
}
std::string trouble_after(const Journal& journal, const MigFacts& facts) {
  const auto move = next(journal, facts);
  return move.journal ? move.journal->trouble : "";
}

MigOutcome outcome(const std::string& trouble = {}) {
  return {.label = "all-3g.40gb", .wish = "w", .trouble = trouble, .boot = "boot-1"};
}

TEST(MigMachine, WithoutALabelNothingIsDone) {
  auto now = facts();
  now.label = "";
  now.wish = "";
  EXPECT_EQ(next({}, now).kind, Kind::kWait);
}

TEST(MigMachine, WhatIsNotKnownIsWaitedFor) {
  struct Case {
    const char* name;
    void (*forget)(MigFacts&);
  };
  for (const auto& [name, forget] :
       std::initializer_list<Case>{{"the Node", [](MigFacts& now) { now.node_known = false; }},
                                   {"the layout", [](MigFacts& now) { now.wish.reset(); }},
                                   {"the hardware", [](MigFacts& now) { now.plan.reset(); }}}) {
    auto now = facts();
    now.plan = plan();
    forget(now);
    EXPECT_EQ(next({}, now).kind, Kind::kWait) << name;
  }
}

TEST(MigMachine, ALayoutThatTheGpusLackIsAskedFor) {
  auto now = facts();
  now.plan = plan();
  const auto move = next({}, now);
  ASSERT_EQ(move.kind, Kind::kJournal);
  EXPECT_EQ(move.journal->phase, Phase::kAsking);
  EXPECT_EQ(move.journal->id, "w-3600000");
  EXPECT_EQ(move.journal->from, off());
  EXPECT_EQ(move.journal->to, halves());
}

TEST(MigMachine, ALayoutThatIsThereIsASuccessAtOnce) {
  auto now = facts();
  now.plan = MigPlan();
  const auto move = next({}, now);
  ASSERT_EQ(move.kind, Kind::kSettle);
  EXPECT_FALSE(move.outcome->failed());
  now.outcome = outcome();
  EXPECT_EQ(next({}, now).kind, Kind::kWait);
}

TEST(MigMachine, AChangeThatFailedIsNoSuccessWhereItCouldNotBeUndone) {
  auto now = facts();
  now.plan = MigPlan();
  now.outcome = outcome("kubelet offers 6 of nvidia.com/mig-1g.10gb");
  now.outcome->told = true;
  now.state = "failed";
  EXPECT_EQ(next({}, now).kind, Kind::kWait);
  now.state = "";
  EXPECT_EQ(next({}, now).kind, Kind::kForget);
}

TEST(MigMachine, AWishThatCannotBeMetFailsBeforeAnythingIsTouched) {
  auto now = facts();
  now.plan = fail(Code::kUnsupported, "GPU 0 (Tesla T4) has no MIG");
  const auto move = next({}, now);
  ASSERT_EQ(move.kind, Kind::kSettle);
  EXPECT_EQ(move.outcome->trouble, "GPU 0 (Tesla T4) has no MIG");
}

TEST(MigMachine, WhatFailedIsTriedAgainOnlyWhenSomebodyAsks) {
  auto now = facts();
  now.plan = plan();
  now.outcome = outcome("no room");
  now.outcome->told = true;
  now.state = "failed";
  EXPECT_EQ(next({}, now).kind, Kind::kWait);
  now.state = "";
  EXPECT_EQ(next({}, now).kind, Kind::kForget) << "the state label was removed";
  now.state = "failed";
  now.accepted = true;
  EXPECT_EQ(next({}, now).kind, Kind::kForget) << "an outage is accepted now";
  now.accepted = false;
  now.wish = "other";
  EXPECT_EQ(next({}, now).kind, Kind::kForget) << "the label or the file changed";
}

TEST(MigMachine, AStateLabelThatWasNotSeenYetIsNoRemovedOne) {
  auto now = facts();
  now.plan = plan();
  now.outcome = outcome("no room");
  EXPECT_EQ(next({}, now).kind, Kind::kWait);
}

TEST(MigMachine, ALayoutChangedByHandIsToldAndNotReverted) {
  auto now = facts();
  now.plan = plan();
  now.outcome = outcome();
  EXPECT_EQ(next({}, now).kind, Kind::kDrift);
}

TEST(MigMachine, AfterARebootTheLayoutIsMadeAgain) {
  auto now = facts();
  now.plan = plan();
  now.outcome = outcome();
  now.boot = "boot-2";
  EXPECT_EQ(next({}, now).kind, Kind::kWait) << "kubelet has not told yet";
  now.holders = kOne;
  EXPECT_EQ(next({}, now).journal->phase, Phase::kAsking);
  now.holders = kNobody;
  EXPECT_EQ(next({}, now).journal->phase, Phase::kChanging) << "nobody is asked";
}

TEST(MigMachine, TheControllerDecidesWhetherAChangeGoesOn) {
  auto now = facts();
  now.holders = kOne;
  EXPECT_EQ(phase_after(journal(Phase::kAsking), now), std::nullopt);
  now.answer = accepted();
  EXPECT_EQ(phase_after(journal(Phase::kAsking), now), Phase::kDraining);
  now.answer->answer = MigDrain::Answer::kRefused;
  now.answer->reason = "no other node offers nvidia.com/gpu";
  EXPECT_EQ(phase_after(journal(Phase::kAsking), now), Phase::kFinished);
  EXPECT_EQ(trouble_after(journal(Phase::kAsking), now), "no other node offers nvidia.com/gpu");
}

TEST(MigMachine, WithoutAControllerAChangeGoesOnOnlyWhereNobodyHoldsWhatLeaves) {
  auto now = facts();
  now.now += std::chrono::minutes(2);
  EXPECT_EQ(phase_after(journal(Phase::kAsking), now), std::nullopt) << "kubelet has not told yet";
  now.holders = kNobody;
  EXPECT_EQ(phase_after(journal(Phase::kAsking), now), Phase::kDraining);
  now.holders = kOne;
  EXPECT_EQ(phase_after(journal(Phase::kAsking), now), Phase::kFinished);
  EXPECT_EQ(trouble_after(journal(Phase::kAsking), now),
            "Pods hold what leaves service (default/train), and no controller answers that could "
            "move them: end them, or install the controller");
}

TEST(MigMachine, AKubeletThatNeverTellsWhoHoldsDevicesEndsTheChange) {
  auto now = facts();
  now.now += std::chrono::minutes(6);
  EXPECT_EQ(phase_after(journal(Phase::kAsking), now), Phase::kFinished);
}

TEST(MigMachine, TheHardwareIsChangedWhenNobodyHoldsAnyOfItAndNobodyCanGetIt) {
  auto now = facts();
  now.answer = accepted();
  now.holders = kNobody;
  EXPECT_EQ(phase_after(journal(Phase::kDraining), now), std::nullopt) << "it is still given out";
  now.withheld = true;
  now.answer->cordoned = false;
  EXPECT_EQ(phase_after(journal(Phase::kDraining), now), std::nullopt) << "no cordon yet";
  now.answer->cordoned = true;
  now.holders = kOne;
  EXPECT_EQ(phase_after(journal(Phase::kDraining), now), std::nullopt) << "a Pod holds it";
  now.holders.reset();
  EXPECT_EQ(phase_after(journal(Phase::kDraining), now), std::nullopt) << "nobody knows";
  now.holders = kNobody;
  EXPECT_EQ(phase_after(journal(Phase::kDraining), now), Phase::kChanging);
}

TEST(MigMachine, APodThatDoesNotStopEndsTheChangeAtItsDeadline) {
  auto now = facts();
  now.now += std::chrono::minutes(2);
  now.withheld = true;
  now.holders = kOne;
  now.answer = accepted();
  now.answer->blocked = {{kOne[0], "PodDisruptionBudget default/web allows no eviction now"},
                         {{"default", "gone"}, "it is ending"}};
  EXPECT_EQ(phase_after(journal(Phase::kDraining), now), Phase::kFinished);
  EXPECT_EQ(trouble_after(journal(Phase::kDraining), now),
            "Pods still hold what leaves service after the time that they are given: "
            "default/train; default/train: PodDisruptionBudget default/web allows no eviction now");
}

TEST(MigMachine, AnotherWishEndsAChangeOfWhichNothingIsDone) {
  auto now = facts();
  now.wish = "other";
  for (const auto phase : {Phase::kAsking, Phase::kDraining}) {
    EXPECT_EQ(phase_after(journal(phase), now), Phase::kFinished);
  }
  auto finished = journal(Phase::kFinished);
  finished.trouble = trouble_after(journal(Phase::kAsking), now);
  const auto move = next(finished, now);
  EXPECT_EQ(move.kind, Kind::kClose);
  EXPECT_FALSE(move.outcome) << "it is no failure of the wish";
}

TEST(MigMachine, AChangeOnTheHardwareIsFinishedWhateverTheLabelSays) {
  auto now = facts();
  now.wish = "";
  now.label = "";
  EXPECT_EQ(next(journal(Phase::kChanging), now).kind, Kind::kApply);
  now.withheld = true;
  now.holders = kNobody;
  EXPECT_EQ(next(journal(Phase::kUndoing), now).kind, Kind::kApply);
  now.node_known = false;
  EXPECT_EQ(next(journal(Phase::kChanging), now).kind, Kind::kApply) << "no API server";
}

TEST(MigMachine, WhatCannotBeAppliedIsUndone) {
  auto now = facts();
  now.applied = fail(Code::kUnavailable, "create 3g.40gb at 0 of GPU 0: Unknown Error");
  EXPECT_EQ(phase_after(journal(Phase::kChanging), now), Phase::kUndoing);
  auto undoing = journal(Phase::kUndoing);
  undoing.trouble = trouble_after(journal(Phase::kChanging), now);
  EXPECT_EQ(undoing.trouble, "create 3g.40gb at 0 of GPU 0: Unknown Error");
  EXPECT_EQ(phase_after(undoing, now), std::nullopt) << "it is tried again";
  now.applied = Result<void>();
  EXPECT_EQ(phase_after(undoing, now), Phase::kFinished);
  EXPECT_EQ(trouble_after(undoing, now), undoing.trouble);
}

TEST(MigMachine, AnUndoWaitsForWhoGotANewDevice) {
  auto undoing = journal(Phase::kUndoing);
  undoing.trouble = "a";
  undoing.deadline = facts().now + std::chrono::minutes(15);
  auto now = facts();
  EXPECT_EQ(next(undoing, now).kind, Kind::kWait) << "nobody knows who holds some";
  now.holders = kNobody;
  EXPECT_EQ(next(undoing, now).kind, Kind::kWait) << "they are still given out";
  now.withheld = true;
  EXPECT_EQ(next(undoing, now).kind, Kind::kApply);
  now.holders = kOne;
  EXPECT_EQ(next(undoing, now).kind, Kind::kWait);
  now.now += std::chrono::minutes(5);
  EXPECT_EQ(phase_after(undoing, now), Phase::kFinished);
  EXPECT_EQ(trouble_after(undoing, now),
            "a; the old layout could not be made again: Pods still hold what leaves service after "
            "the time that they are given: default/train; no controller moves them");
  now.holders.reset();
  EXPECT_EQ(next(undoing, now).kind, Kind::kApply) << "the driver refuses what is in use";
}

TEST(MigMachine, AnUndoThatNeverWorksEndsToo) {
  auto now = facts();
  now.now += std::chrono::minutes(2);
  now.applied = fail(Code::kUnavailable, "the GPU is lost");
  auto undoing = journal(Phase::kUndoing);
  undoing.trouble = "a";
  EXPECT_EQ(phase_after(undoing, now), Phase::kFinished);
  EXPECT_EQ(trouble_after(undoing, now),
            "a; the old layout could not be made again: the GPU is lost");
}

TEST(MigMachine, AChangeIsOverWhenKubeletOffersTheNewLayout) {
  auto now = facts();
  now.applied = Result<void>();
  EXPECT_EQ(phase_after(journal(Phase::kChanging), now), Phase::kVerifying);
  EXPECT_EQ(phase_after(journal(Phase::kVerifying), now), std::nullopt);
  now.verified = {};
  EXPECT_EQ(phase_after(journal(Phase::kVerifying), now), Phase::kFinished);
}

TEST(MigMachine, AKubeletThatOffersSomethingElseUndoesTheChange) {
  auto now = facts();
  now.now += std::chrono::minutes(2);
  now.verified = fail(Code::kFailedPrecondition, "kubelet offers 0 of nvidia.com/mig-3g.40gb");
  EXPECT_EQ(phase_after(journal(Phase::kVerifying), now), Phase::kUndoing);
}

TEST(MigMachine, AKubeletThatIsAwayForAWhileUndoesNothing) {
  auto now = facts();
  now.now += std::chrono::minutes(2);
  now.verified = fail(Code::kUnavailable, "no such socket");
  EXPECT_EQ(phase_after(journal(Phase::kVerifying), now), std::nullopt);
  now.now += std::chrono::minutes(5);
  EXPECT_EQ(phase_after(journal(Phase::kVerifying), now), Phase::kUndoing);
}

TEST(MigMachine, AChangeGoesOnAfterAReboot) {
  auto now = facts();
  now.boot = "boot-2";
  EXPECT_EQ(next(journal(Phase::kChanging), now).kind, Kind::kApply);
  EXPECT_EQ(phase_after(journal(Phase::kVerifying), now), Phase::kChanging);
  auto drained = now;
  drained.withheld = true;
  drained.holders = kNobody;
  EXPECT_EQ(next(journal(Phase::kUndoing), drained).kind, Kind::kApply);
  now.applied = Result<void>();
  EXPECT_EQ(next(journal(Phase::kChanging), now).journal->boot, "boot-2");
}

TEST(MigMachine, ARebootBeforeTheEndIsToldTakesTheLayoutAway) {
  auto now = facts();
  now.boot = "boot-2";
  auto finished = journal(Phase::kFinished);
  EXPECT_EQ(phase_after(finished, now), Phase::kChanging);
  finished.trouble = "a";
  EXPECT_EQ(phase_after(finished, now), Phase::kUndoing);
  EXPECT_EQ(trouble_after(finished, now), "a");
  now.applied = Result<void>();
  auto undoing = journal(Phase::kUndoing);
  undoing.trouble = "a";
  EXPECT_EQ(next(undoing, now).journal->boot, "boot-2") << "it ends in this boot";
}

TEST(MigMachine, AChangeOfWhichNothingIsDoneBeginsAnewAfterAReboot) {
  auto now = facts();
  now.boot = "boot-2";
  for (const auto phase : {Phase::kAsking, Phase::kDraining}) {
    EXPECT_EQ(phase_after(journal(phase), now), Phase::kFinished);
  }
  auto finished = journal(Phase::kFinished);
  finished.trouble = trouble_after(journal(Phase::kDraining), now);
  EXPECT_FALSE(next(finished, now).outcome);
}

TEST(MigMachine, TheJournalGoesWhenTheCordonHasGone) {
  auto now = facts();
  now.node_known = false;
  EXPECT_EQ(next(journal(Phase::kFinished), now).kind, Kind::kWait) << "no API server";
  now.node_known = true;
  now.answer = accepted();
  EXPECT_EQ(next(journal(Phase::kFinished), now).kind, Kind::kWait);
  now.answer->uncordoned = true;
  EXPECT_EQ(next(journal(Phase::kFinished), now).kind, Kind::kClose);
  now.answer.reset();
  EXPECT_EQ(next(journal(Phase::kFinished), now).kind, Kind::kClose) << "there is no controller";
  now.answer = accepted();
  now.now += std::chrono::minutes(2);
  EXPECT_EQ(next(journal(Phase::kFinished), now).kind, Kind::kClose) << "the controller is gone";
}

TEST(MigMachine, WhatBecameOfTheChangeIsRemembered) {
  auto finished = journal(Phase::kFinished);
  EXPECT_EQ(next(finished, facts()).outcome, outcome());
  finished.trouble = "why";
  EXPECT_EQ(next(finished, facts()).outcome, outcome("why"));
}

TEST(MigMachine, ManyPodsAreNamedInPart) {
  std::vector<MigHolder> many(10, {"a", "b"});
  EXPECT_EQ(describe_pods(many), "a/b, a/b, a/b, a/b, a/b, a/b, a/b, a/b and 2 more");
  EXPECT_EQ(describe_pods({{"", ""}}), "a container that kubelet does not name");
}

}  // namespace
}  // namespace tranche::agent::mig_machine_test
