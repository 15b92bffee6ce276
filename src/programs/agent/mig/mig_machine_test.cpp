#include "agent/mig/mig_machine.h"

#include <gtest/gtest.h>

#include "agent/mig/machine_testing.h"

namespace tranche::agent::mig_machine_test {
namespace {

using namespace machine_testing;

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

TEST(MigMachine, AnEditedLayoutIsToldAndAppliedWhenSomebodyAsks) {
  auto now = facts();
  now.wish = "edited";
  now.outcome = outcome();
  now.outcome->told = true;
  now.state = "success";
  now.plan = plan();
  EXPECT_TRUE(is_edited(now));
  EXPECT_EQ(next({}, now).kind, Kind::kDrift);
  now.plan = fail(Code::kInvalidArgument, "there is no profile 9g");
  EXPECT_EQ(next({}, now).kind, Kind::kDrift) << "one that does not fit";
  now.state = "";
  EXPECT_EQ(next({}, now).kind, Kind::kForget);
  now.state = "success";
  now.label = "other";
  EXPECT_EQ(next({}, now).kind, Kind::kForget) << "that is a wish";
}

TEST(MigMachine, AnEditThatChangesNothingIsInForce) {
  auto now = facts();
  now.wish = "edited";
  now.outcome = outcome();
  now.plan = MigPlan();
  const auto move = next({}, now);
  ASSERT_EQ(move.kind, Kind::kSettle);
  EXPECT_EQ(move.outcome->wish, "edited");
  EXPECT_FALSE(move.outcome->failed());
}

// The reboot destroyed the instances anyway.
TEST(MigMachine, AfterARebootAnEditedLayoutIsMade) {
  auto now = facts();
  now.wish = "edited";
  now.outcome = outcome();
  now.plan = plan();
  now.boot = "boot-2";
  now.holders.emplace();
  const auto move = next({}, now);
  ASSERT_EQ(move.kind, Kind::kJournal);
  EXPECT_EQ(move.journal->phase, Phase::kChanging);
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

TEST(MigMachine, WhatARebootTookAwayAfterAFailedChangeIsMadeAgain) {
  auto now = facts();
  now.plan = plan();
  now.outcome = outcome("no room");
  now.boot = "boot-2";
  now.lost = MigPlan{.from = off(), .to = halves()};
  EXPECT_EQ(next({}, now).kind, Kind::kWait) << "kubelet has not told yet";
  now.holders = kOne;
  EXPECT_EQ(next({}, now).kind, Kind::kWait) << "a Pod has a GPU by now";
  now.holders = kNobody;
  const auto move = next({}, now);
  ASSERT_EQ(move.kind, Kind::kJournal);
  EXPECT_EQ(move.journal->phase, Phase::kUndoing);
  EXPECT_EQ(move.journal->from, halves());
  EXPECT_EQ(move.journal->to, off());
  EXPECT_EQ(move.journal->trouble, "no room");
  now.plan = fail(Code::kInvalidArgument, "there is no layout \"b\"");
  EXPECT_EQ(next({}, now).journal->from, halves()) << "the wish may be none that can be met";
  now.lost = MigPlan();
  EXPECT_EQ(next({}, now).kind, Kind::kWait);
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

TEST(MigMachine, NvidiasClientsEndBeforeTheHardwareIsChanged) {
  auto now = facts();
  now.answer = accepted();
  now.holders = kNobody;
  now.withheld = true;
  now.clients = {"gpu-operator/nvidia-dcgm-x7f2"};
  EXPECT_EQ(phase_after(journal(Phase::kDraining), now), std::nullopt);
  now.clients.reset();
  EXPECT_EQ(phase_after(journal(Phase::kDraining), now), std::nullopt) << "nobody knows";
  now.clients.emplace();
  EXPECT_EQ(phase_after(journal(Phase::kDraining), now), Phase::kChanging);
  now.clients->push_back("gpu-operator/nvidia-dcgm-x7f2");
  now.now += std::chrono::minutes(2);
  EXPECT_EQ(phase_after(journal(Phase::kDraining), now), Phase::kChanging)
      << "the driver refuses what it has open";
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

TEST(MigMachine, AClockThatIsSetBackKeepsNoChangeOpen) {
  for (const auto phase : {Phase::kAsking, Phase::kDraining, Phase::kChanging, Phase::kVerifying,
                           Phase::kUndoing, Phase::kFinished}) {
    auto open = journal(phase);
    open.started += std::chrono::hours(24);
    open.deadline += std::chrono::hours(24);
    const auto move = next(open, facts());
    ASSERT_EQ(move.kind, Kind::kJournal) << mig::to_string(phase);
    EXPECT_EQ(move.journal->phase, phase);
    EXPECT_EQ(move.journal->started, facts().now);
    EXPECT_LE(move.journal->deadline, facts().now + std::chrono::minutes(15));
  }
}

TEST(MigMachine, AClockThatIsCorrectedByLittleIsNothing) {
  auto open = journal(Phase::kDraining);
  open.started += std::chrono::seconds(10);
  open.deadline = open.started + std::chrono::minutes(5);
  EXPECT_EQ(next(open, facts()).kind, Kind::kWait);
}

TEST(MigMachine, ManyPodsAreNamedInPart) {
  std::vector<ObjectKey> many(10, {"a", "b"});
  EXPECT_EQ(describe_pods(many), "a/b, a/b, a/b, a/b, a/b, a/b, a/b, a/b and 2 more");
  EXPECT_EQ(describe_pods({{"", ""}}), "a container that kubelet does not name");
}

}  // namespace
}  // namespace tranche::agent::mig_machine_test
