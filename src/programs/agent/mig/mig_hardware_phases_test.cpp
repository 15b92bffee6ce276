#include <gtest/gtest.h>

#include "agent/mig/machine_testing.h"
#include "agent/mig/mig_machine.h"

namespace tranche::agent::mig_hardware_phases_test {
namespace {

using namespace machine_testing;

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

TEST(MigMachine, WhatAPodGotMeanwhileIsNotChanged) {
  auto now = facts();
  now.holders = kOne;
  EXPECT_EQ(phase_after(journal(Phase::kChanging), now), Phase::kUndoing);
  EXPECT_EQ(trouble_after(journal(Phase::kChanging), now),
            "Pods got what leaves service: default/train");
  now.holders = kNobody;
  EXPECT_EQ(next(journal(Phase::kChanging), now).kind, Kind::kApply);
  now.holders.reset();
  EXPECT_EQ(next(journal(Phase::kChanging), now).kind, Kind::kApply)
      << "the driver refuses what is in use";
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

TEST(MigMachine, AGpuThatIsInUseIsTriedAgainForTheTimeThatPodsAreGiven) {
  auto changing = journal(Phase::kChanging);
  changing.deadline = facts().now + std::chrono::minutes(10);
  auto now = facts();
  now.applied = fail(Code::kFailedPrecondition, "in use: dcgm (pid 12)");
  EXPECT_EQ(next(changing, now).kind, Kind::kWait);
  now.now += std::chrono::minutes(4);
  EXPECT_EQ(next(changing, now).kind, Kind::kWait) << "also after a restart of the agent";
  now.now += std::chrono::minutes(1);
  EXPECT_EQ(phase_after(changing, now), Phase::kUndoing);
  EXPECT_EQ(trouble_after(changing, now), "in use: dcgm (pid 12)");
}

TEST(MigMachine, AWishForSomethingElseIsNotKeptWaitingByAGpuInUse) {
  auto changing = journal(Phase::kChanging);
  changing.deadline = facts().now + std::chrono::minutes(10);
  auto now = facts();
  now.applied = fail(Code::kFailedPrecondition, "in use");
  now.wish = "other";
  EXPECT_EQ(phase_after(changing, now), Phase::kUndoing);
  now.wish.reset();
  EXPECT_EQ(next(changing, now).kind, Kind::kWait) << "not known now";
}

TEST(MigMachine, AnUndoIsNotEndedByAGpuInUseBeforeItsTime) {
  auto undoing = journal(Phase::kUndoing);
  undoing.trouble = "a";
  auto now = facts();
  now.applied = fail(Code::kFailedPrecondition, "in use");
  EXPECT_EQ(next(undoing, now).kind, Kind::kWait);
  now.now = undoing.deadline;
  EXPECT_EQ(phase_after(undoing, now), Phase::kFinished);
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

}  // namespace
}  // namespace tranche::agent::mig_hardware_phases_test
