#include "agent/mig/mig_kept.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "agent/mig/machine_testing.h"
#include "agent/mig/testing.h"
#include "base/envelope.h"

namespace tranche::agent::mig_kept_test {
namespace {

using mig_testing::MigNode;
using testing::HasSubstr;
using Phase = mig::Journal::Phase;

constexpr const char* kHalves = "3g.40gb x 2";

// Had the layout all-3g.40gb; a change to all-1g.10gb failed and was undone.
struct Failed : MigNode {
  Failed() : MigNode("h100-80gb") {
    wish("all-3g.40gb");
    EXPECT_EQ(settle(), "success") << log_text();
    turn();
    control.fail_calls("create_gpu_instance 19", {Code::kUnavailable, "Unknown Error"});
    wish("all-1g.10gb");
    turn();
    EXPECT_EQ(settle(), "failed") << log_text();
    EXPECT_EQ(summary(0), kHalves);
  }
  void turns(int count) {
    for (int i = 0; i < count; ++i) {
      turn();
      clock.advance(std::chrono::seconds(1));
    }
  }
};

TEST(MigKept, WhatWasThereBeforeAFailedChangeIsThereAfterAReboot) {
  Failed node;
  const auto message = node.reported->message;
  node.reboot();
  EXPECT_EQ(node.summary(0), "MIG off");
  node.turns(30);
  EXPECT_EQ(node.summary(0), kHalves) << node.log_text();
  EXPECT_EQ(node.summary(1), kHalves);
  EXPECT_EQ(node.state(), "failed");
  EXPECT_FALSE(node.open());
  EXPECT_EQ(node.reported->message, message);
  EXPECT_EQ(node.kubelet.listed["nvidia.com/mig-3g.40gb"].size(), 4U);
  node.reboot();
  node.turns(30);
  EXPECT_EQ(node.summary(0), kHalves) << "after each reboot";
}

TEST(MigKept, ALabelThatNoLayoutHasTakesNoLayoutAwayAtAReboot) {
  MigNode node("h100-80gb");
  node.wish("all-3g.40gb");
  EXPECT_EQ(node.settle(), "success");
  node.turn();
  node.wish("all-3g.40bg");
  node.turn();
  EXPECT_EQ(node.settle(), "failed");
  node.reboot();
  for (int i = 0; i < 30; ++i) {
    node.turn();
    node.clock.advance(std::chrono::seconds(1));
  }
  EXPECT_EQ(node.summary(0), kHalves) << node.log_text();
  EXPECT_EQ(node.state(), "failed");
}

TEST(MigKept, AWishThatWasMadeWhileTheMachineWasOffAndFailsLeavesTheLayout) {
  MigNode node("h100-80gb");
  node.wish("all-3g.40gb");
  EXPECT_EQ(node.settle(), "success");
  node.turn();
  node.control.fail_calls("create_gpu_instance 19", {Code::kUnavailable, "Unknown Error"});
  node.wish("all-1g.10gb");
  node.reboot();
  node.turn();
  EXPECT_EQ(node.settle(), "failed") << node.log_text();
  for (int i = 0; i < 30; ++i) {
    node.turn();
    node.clock.advance(std::chrono::seconds(1));
  }
  EXPECT_EQ(node.summary(0), kHalves) << node.log_text();
}

TEST(MigKept, ALostDiskLosesNothingOfIt) {
  Failed node;
  std::filesystem::remove_all(node.dir.path() / "mig");
  node.reboot();
  node.turns(30);
  EXPECT_EQ(node.summary(0), kHalves) << node.log_text();
}

TEST(MigKept, APodThatHasAGpuByThenIsNotEvictedForIt) {
  Failed node;
  node.reboot();
  node.hold("train", "GPU-0");
  node.turns(20);
  EXPECT_EQ(node.summary(0), "MIG off");
  EXPECT_FALSE(node.open());
  node.kubelet.held.clear();
  node.turns(30);
  EXPECT_EQ(node.summary(0), kHalves);
}

TEST(MigKept, WhatCannotBeMadeAgainIsTriedOnceInABoot) {
  Failed node;
  node.control.fail_calls("create_gpu_instance 9", {Code::kUnavailable, "Unknown Error"});
  node.reboot();
  for (int i = 0; i < 100; ++i) node.turns(10);
  EXPECT_EQ(node.state(), "failed");
  EXPECT_FALSE(node.open());
  EXPECT_THAT(node.reported->message, HasSubstr("neither the layout all-1g.10gb nor"));
  const auto changes = node.changes();
  node.turns(5);
  EXPECT_EQ(node.changes(), changes) << node.log_text();
  node.control.heal();
  node.reboot();
  node.turns(30);
  EXPECT_EQ(node.summary(0), kHalves);
}

TEST(MigKept, WithoutALabelNothingIsMadeAgain) {
  Failed node;
  node.node->labels.erase(cluster::kMigConfigLabel);
  node.changed();
  node.turns(3);
  node.reboot();
  node.turns(30);
  EXPECT_EQ(node.summary(0), "MIG off");
  EXPECT_FALSE(node.node->annotations.contains(cluster::kMigAppliedAnnotation));
}

TEST(MigKept, AnAgentThatIsKilledBeforeItSaidHowAChangeEndedSaysItWhenItIsBack) {
  Failed node;
  const auto told = node.reported;
  node.reported.reset();
  node.start();
  node.turns(3);
  EXPECT_EQ(node.reported, told);
}

TEST(MigKept, AlsoWhereTheChangeIsNotClosedYet) {
  MigNode node("h100-80gb");
  node.controller = [](MigNode& self) {
    const auto change = self.change();
    if (!change) return;
    // It never uncordons.
    self.answer({.id = change->id, .cordoned = true});
  };
  node.control.fail_calls("create_gpu_instance 19", {Code::kUnavailable, "Unknown Error"});
  node.wish("all-1g.10gb");
  for (int i = 0; i < 40 && node.now_in() != Phase::kFinished; ++i) {
    node.turn();
    node.clock.advance(std::chrono::seconds(1));
  }
  ASSERT_EQ(node.now_in(), Phase::kFinished) << node.log_text();
  const auto told = node.reported;
  ASSERT_TRUE(told);
  EXPECT_EQ(told->reason, "MigChangeFailed");
  node.reported.reset();
  node.start();
  node.turn();
  EXPECT_EQ(node.reported, told);
}

TEST(MigKept, WhatAReleaseBeforeWroteIsUnderstood) {
  const MigOutcome before{.label = "a", .wish = "w", .trouble = "t", .boot = "b", .told = true};
  auto text = encode(before);
  EXPECT_EQ(*decode_outcome(text), before);
  // As that release wrote it, with its checksum.
  const std::string content =
      R"({"accepted":false,"boot":"b","label":"a","told":true,"trouble":"t","wish":"w"})";
  const auto read = decode_outcome(seal({.version = "mig-applied/v1", .key = "outcome"}, content));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, before);
}

// The pure rules (agent/mig/mig_kept.h).

MigProgress failing(const mig::Journal& journal, MigKept kept) {
  return {.boot = "boot-2",
          .restored = true,
          .journal = journal,
          .outcome = MigOutcome{.kept = std::move(kept)}};
}

TEST(MigKeptRules, WhatWasThereBeforeTheFirstFailureIsKept) {
  const auto journal = machine_testing::journal(Phase::kFinished);
  const auto failed = machine_testing::outcome("no room");
  EXPECT_EQ(kept_after(failed, failing(journal, {})), (MigKept{journal.from, "boot-2"}));
  const mig::Layout other = {{{"GPU-9"}, {}}};
  auto both = other;
  both.insert(journal.from.begin(), journal.from.end());
  EXPECT_EQ(kept_after(failed, failing(journal, {other, "boot-2"})), (MigKept{both, "boot-2"}));
  const MigKept kept{other, "boot-1"};
  EXPECT_EQ(kept_after(failed, failing(journal, kept)), kept) << "`from` is what a reboot left";
  EXPECT_EQ(kept_after(machine_testing::outcome(), failing(journal, kept)), kept);
}

TEST(MigKeptRules, WhatWasBroughtBackIsKeptFromThisBootOn) {
  const auto journal = machine_testing::journal(Phase::kFinished);
  const auto failed = machine_testing::outcome("no room");
  EXPECT_EQ(kept_after(failed, failing(journal, {journal.from, "boot-1"})),
            (MigKept{journal.from, "boot-2"}));
}

TEST(MigKeptRules, ALayoutThatIsInForceIsKeptAsItIs) {
  MigProgress progress{.boot = "boot-2", .outcome = machine_testing::outcome()};
  auto facts = machine_testing::facts();
  facts.present = machine_testing::halves();
  EXPECT_EQ(kept_at_rest(facts, progress), MigKept()) << "the plan is not known";
  facts.plan = machine_testing::plan();
  EXPECT_EQ(kept_at_rest(facts, progress), MigKept()) << "something is to be done";
  facts.plan = MigPlan();
  EXPECT_EQ(kept_at_rest(facts, progress), (MigKept{machine_testing::halves(), "boot-2"}));
  progress.outcome->trouble = "no room";
  EXPECT_EQ(kept_at_rest(facts, progress), MigKept()) << "it is not of the wish";
  facts.lost.emplace();
  EXPECT_EQ(kept_at_rest(facts, progress), (MigKept{{}, "boot-2"})) << "nothing was lost";
}

TEST(MigKeptRules, AModeHasComeWhenAllHaveItAndSomeHadAnother) {
  const auto on = machine_testing::halves();
  const auto off = machine_testing::off();
  EXPECT_TRUE(has_mode_come({.from = on, .to = on}, on, {off, "boot-1"}));
  EXPECT_FALSE(has_mode_come({.from = on, .to = on}, on, {on, "boot-1"})) << "it had it before";
  EXPECT_FALSE(has_mode_come({.from = off, .to = on}, off, {on, "boot-1"})) << "it lacks it";
}

}  // namespace
}  // namespace tranche::agent::mig_kept_test
