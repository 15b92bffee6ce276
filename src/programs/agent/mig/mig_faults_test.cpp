#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "agent/mig/testing.h"

namespace tranche::agent::mig_faults_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Phase = mig::Journal::Phase;
using mig_testing::MigNode;

constexpr const char* kSevenSmall = "1g.10gb x 7";
constexpr const char* kBalanced = "3g.40gb, 2g.20gb, 1g.10gb x 2";

// A kubelet that lists less than it received, and gives out all of it.
void show_too_little(MigNode& self) {
  const auto change = self.change();
  const bool over = !change || change->phase == cluster::MigPhase::kFinished;
  if (change) self.answer({.id = change->id, .cordoned = !over, .uncordoned = over});
  auto& small = self.kubelet.listed["nvidia.com/mig-1g.10gb"];
  if (self.now_in() != Phase::kVerifying || small.size() < 2) return;
  if (self.kubelet.held.empty()) self.hold("daemon", *small.begin());
  small.erase(small.begin());
}

TEST(MigFaults, APodThatGotANewDeviceIsDrainedBeforeAnUndo) {
  MigNode node("h100-80gb", 1);
  node.settings.controller = true;
  bool asked_to_evict = false;
  node.controller = [&](MigNode& self) {
    show_too_little(self);
    const auto change = self.change();
    if (!change || self.now_in() != Phase::kUndoing) return;
    EXPECT_NE(self.summary(0), "MIG off") << "while it is held";
    if (change->phase != cluster::MigPhase::kDraining) return;
    EXPECT_THAT(change->pods, ElementsAre(cluster::ObjectKey{"default", "daemon"}));
    asked_to_evict = true;
    self.kubelet.held.clear();
  };
  node.start();
  node.wish("all-1g.10gb");
  EXPECT_EQ(node.settle(200), "failed") << node.log_text();
  EXPECT_TRUE(asked_to_evict);
  EXPECT_EQ(node.summary(0), "MIG off");
  EXPECT_THAT(node.reported->message, HasSubstr("the change was undone"));
}

TEST(MigFaults, APodThatKeepsANewDeviceEndsTheUndoAndTheNodeSaysWhatItHas) {
  MigNode node("h100-80gb", 1);
  node.settings.controller = true;
  node.controller = show_too_little;
  node.start();
  node.wish("all-1g.10gb");
  EXPECT_EQ(node.settle(1000), "failed") << node.log_text();
  EXPECT_EQ(node.summary(0), kSevenSmall);
  EXPECT_THAT(node.reported->message,
              HasSubstr("the GPUs have the layout all-1g.10gb, but the change to it failed"));
  EXPECT_THAT(node.reported->message, HasSubstr("default/daemon"));
  for (int i = 0; i < 5; ++i) node.turn();
  EXPECT_EQ(node.state(), "failed") << "until somebody asks again";
  EXPECT_EQ(node.kubelet.listed["nvidia.com/mig-1g.10gb"].size(), 7U);
}

void lose_the_disk(MigNode& node) {
  node.manager.reset();
  std::filesystem::remove_all(node.dir.path() / "mig");
  node.start();
}

TEST(MigFaults, AfterALostDiskTheNodeKnowsWhichLayoutIsInForce) {
  MigNode node("h100-80gb", 1);
  node.wish("all-balanced");
  ASSERT_EQ(node.settle(), "success");
  auto state = node.control.state(MigNode::uuid(0));
  state.instances.pop_back();
  node.control.set_state(MigNode::uuid(0), state);
  const auto by_hand = node.summary(0);
  lose_the_disk(node);
  for (int i = 0; i < 5; ++i) node.turn();
  EXPECT_EQ(node.reported->reason, "MigLayoutDrift") << node.log_text();
  EXPECT_EQ(node.summary(0), by_hand);
  // A person asks for it again by removing the label.
  node.node->labels.erase(cluster::kMigStateLabel);
  node.changed();
  node.turn();
  EXPECT_EQ(node.settle(), "success");
  EXPECT_EQ(node.summary(0), kBalanced);
}

TEST(MigFaults, AfterALostDiskWhatFailedIsNotTriedAgain) {
  MigNode node("h100-80gb");
  node.hold("train", "GPU-0");
  node.wish("all-1g.10gb");
  ASSERT_EQ(node.settle(), "failed");
  node.kubelet.held.clear();
  lose_the_disk(node);
  for (int i = 0; i < 5; ++i) node.turn();
  EXPECT_EQ(node.state(), "failed");
  EXPECT_EQ(node.summary(0), "MIG off");
}

TEST(MigFaults, AfterALostDiskAndARebootNobodyIsAsked) {
  MigNode node("h100-80gb");
  node.settings.controller = true;
  node.controller = MigNode::drain;
  node.start();
  node.wish("all-balanced");
  ASSERT_EQ(node.settle(), "success");
  node.controller = nullptr;
  std::filesystem::remove_all(node.dir.path() / "mig");
  node.reboot();
  for (int i = 0; i < 10; ++i) node.turn();
  EXPECT_EQ(node.settle(), "success") << node.log_text();
  EXPECT_EQ(node.summary(0), kBalanced);
}

TEST(MigFaults, TheNodeForgetsALayoutThatNobodyAsksFor) {
  MigNode node("h100-80gb");
  node.wish("all-balanced");
  ASSERT_EQ(node.settle(), "success");
  EXPECT_TRUE(node.node->annotations.contains("tranche.dev/mig-applied"));
  node.node->labels.erase(cluster::kMigConfigLabel);
  node.changed();
  for (int i = 0; i < 4; ++i) node.turn();
  EXPECT_FALSE(node.node->annotations.contains("tranche.dev/mig-applied"));
}

// A sample; tests/e2e/test_mig_manager_faults.py has every phase and step.
TEST(MigFaults, AFaultAtAnyCallEndsInOneOfTheTwoLayouts) {
  using test::MigFault;
  for (const auto fault :
       {MigFault::kFails, MigFault::kTimesOutDone, MigFault::kKilled, MigFault::kKilledDone}) {
    for (const int call : {2, 6, 10, 14}) {
      MigNode node("h100-80gb", 1);
      node.wish("all-balanced");
      ASSERT_EQ(node.settle(), "success");
      node.wish("all-1g.10gb");
      node.control.fault_at(call, fault);
      if (!node.turn()) node.start();
      const auto end = node.settle(200);
      const auto* wanted = end == "success" ? kSevenSmall : kBalanced;
      EXPECT_EQ(node.summary(0), wanted) << call << " " << node.log_text();
      EXPECT_FALSE(node.open());
      EXPECT_EQ(node.now_in(), std::nullopt);
    }
  }
}

// The restarted agent waits for the same Pods and names them.
TEST(MigFaults, AnAgentThatComesBackStillWaitsForWhoHoldsWhatChanges) {
  MigNode node("a100-80gb", 1);
  node.settings.controller = true;
  node.controller = [](MigNode& self) {
    if (const auto change = self.change()) self.answer({.id = change->id, .cordoned = true});
  };
  node.start();
  node.hold("train", "GPU-0");
  node.wish("all-1g.10gb");
  ASSERT_TRUE(node.reach(Phase::kDraining));
  node.start();
  for (int i = 0; i < 3; ++i) node.turn();
  EXPECT_EQ(node.now_in(), Phase::kDraining) << node.log_text();
  ASSERT_TRUE(node.change());
  EXPECT_THAT(node.change()->pods, ElementsAre(cluster::ObjectKey{"default", "train"}));
  EXPECT_FALSE(node.change()->after.empty());
  node.kubelet.held.clear();
  node.controller = MigNode::drain;
  EXPECT_EQ(node.settle(), "success") << node.log_text();
}

// If a compute instance does not fit next to another, all of the GPU instance are made again.
TEST(MigFaults, WhoHoldsAComputeInstanceIsDrainedWhereAnotherComesNextToIt) {
  MigNode node("h100-80gb", 1);
  node.config_file = (node.dir.path() / "layouts.yaml").string();
  std::ofstream(node.config_file) << "version: v1\nmig-configs:\n"
                                     "  one:\n    - devices: all\n      mig-enabled: true\n"
                                     "      mig-devices: {\"1c.3g.40gb\": 1}\n"
                                     "  two:\n    - devices: all\n      mig-enabled: true\n"
                                     "      mig-devices: {\"1c.3g.40gb\": 1, \"2c.3g.40gb\": 1}\n";
  node.settings.controller = true;
  node.controller = MigNode::drain;
  node.start();
  node.wish("one");
  ASSERT_EQ(node.settle(), "success") << node.log_text();
  node.controller = nullptr;
  node.loop();
  node.hold("train", *node.kubelet.listed.at("nvidia.com/mig-1c.3g.40gb").begin());
  node.wish("two");
  for (int i = 0; i < 5; ++i) node.turn();
  ASSERT_TRUE(node.change()) << node.log_text();
  EXPECT_THAT(node.change()->pods, ElementsAre(cluster::ObjectKey{"default", "train"}));
  node.controller = MigNode::drain;
  EXPECT_EQ(node.settle(), "success") << node.log_text();
  EXPECT_EQ(node.machine().gpus[0].mig_instances.size(), 2U);
}

}  // namespace
}  // namespace tranche::agent::mig_faults_test
