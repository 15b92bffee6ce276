#include "agent/mig/mig_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "agent/config/reading_mark.h"
#include "agent/mig/testing.h"

namespace tranche::agent::mig_manager_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Phase = mig::Journal::Phase;
using mig_testing::MigNode;

constexpr const char* kSevenSmall = "1g.10gb x 7";
constexpr const char* kBalanced = "3g.40gb, 2g.20gb, 1g.10gb x 2";

TEST(MigManager, ALabelChangesTheLayoutAndKubeletOffersIt) {
  MigNode node("h100-80gb");
  node.wish("all-1g.10gb");
  EXPECT_EQ(node.settle(), "success") << node.log_text();
  EXPECT_EQ(node.summary(0), kSevenSmall);
  EXPECT_EQ(node.summary(1), kSevenSmall);
  EXPECT_EQ(node.kubelet.listed["nvidia.com/mig-1g.10gb"].size(), 14U);
  EXPECT_FALSE(node.open());
  EXPECT_FALSE(node.node->labels.contains(cluster::kMigChangeLabel));
  EXPECT_EQ(node.now_in(), std::nullopt);
  EXPECT_TRUE(node.reported->good);
}

TEST(MigManager, ALayoutThatIsThereIsSuccessAndNothingIsTouched) {
  MigNode node("h100-80gb");
  node.wish("all-disabled");
  EXPECT_EQ(node.settle(), "success");
  for (const auto& call : node.control.calls()) EXPECT_THAT(call, testing::StartsWith("read"));
}

TEST(MigManager, WithoutALabelNothingIsWrittenButThatThereIsAManager) {
  MigNode node("h100-80gb");
  for (int i = 0; i < 5; ++i) node.turn();
  ASSERT_TRUE(node.reported);
  EXPECT_EQ(node.reported->reason, "MigUnmanaged");
  EXPECT_TRUE(node.reported->good && node.reported->written_while_good);
  EXPECT_FALSE(node.reported->as_event);
  EXPECT_TRUE(node.node->labels.empty());
  EXPECT_TRUE(node.node->annotations.empty());
}

TEST(MigManager, ALabelThatIsRemovedIsToldByAnEvent) {
  MigNode node("h100-80gb");
  node.wish("all-disabled");
  EXPECT_EQ(node.settle(), "success");
  node.node->labels.erase(cluster::kMigConfigLabel);
  node.changed();
  for (int i = 0; i < 5; ++i) node.turn();
  EXPECT_EQ(node.reported->reason, "MigUnmanaged");
  EXPECT_TRUE(node.reported->as_event);
}

TEST(MigManager, AClockThatIsSetBackDoesNotMakeTheAgentSilent) {
  MigNode node("h100-80gb");
  node.hold("train", node.machine().gpus[0].uuid.value);
  node.settings.controller = true;
  node.start();
  node.controller = [](MigNode& self) {
    if (const auto change = self.change()) self.answer({.id = change->id, .cordoned = true});
  };
  node.wish("all-1g.10gb");
  ASSERT_TRUE(node.reach(Phase::kDraining));
  node.turn();
  node.clock.advance(-std::chrono::hours(1));
  node.turn();
  node.turn();
  ASSERT_TRUE(node.change());
  EXPECT_LE(node.change()->written_at, node.clock.wall_now());
}

TEST(MigManager, AnUnknownLayoutIsRefusedWithTheNamesThatThereAre) {
  MigNode node("h100-80gb");
  node.wish("all-balancd");
  EXPECT_EQ(node.settle(), "failed");
  EXPECT_THAT(node.reported->message, HasSubstr("all-balanced"));
  EXPECT_EQ(node.reported->reason, "MigNotChanged");
}

TEST(MigManager, AnotherLabelIsFollowedAfterAFailure) {
  MigNode node("h100-80gb");
  node.wish("all-balancd");
  EXPECT_EQ(node.settle(), "failed");
  node.wish("all-balanced");
  node.turn();
  EXPECT_EQ(node.settle(), "success") << node.log_text();
  EXPECT_EQ(node.summary(0), kBalanced);
}

TEST(MigManager, OurFileWinsOverTheDefaults) {
  MigNode node("h100-80gb");
  node.config_file = (node.dir.path() / "layouts.yaml").string();
  std::ofstream(node.config_file)
      << "version: v1\nmig-configs:\n  half:\n    - devices: [1]\n"
         "      mig-enabled: true\n      mig-devices: {\"3g.40gb\": 2}\n";
  node.start();
  node.wish("half");
  EXPECT_EQ(node.settle(), "success") << node.log_text();
  EXPECT_EQ(node.summary(0), "MIG off");
  EXPECT_EQ(node.summary(1), "3g.40gb x 2");
}

TEST(MigManager, AFileThatIsNotThereRefusesALayoutUntilItIs) {
  MigNode node("h100-80gb");
  node.config_file = (node.dir.path() / "layouts.yaml").string();
  node.start();
  node.wish("all-balanced");
  EXPECT_EQ(node.settle(), "failed") << node.log_text();
  ASSERT_TRUE(node.reported && !node.reported->good);
  EXPECT_THAT(node.reported->message, HasSubstr("the file of MIG layouts cannot be read"));
  EXPECT_THAT(node.reported->message, HasSubstr("layouts.yaml"));
  EXPECT_EQ(node.summary(0), "MIG off");
  std::ofstream(node.config_file) << "version: v1\nmig-configs:\n  other:\n    - devices: all\n"
                                     "      mig-enabled: false\n";
  node.changed();
  ASSERT_TRUE(node.turn());
  EXPECT_EQ(node.settle(), "success") << node.log_text();
  // The layout in force stays without the file.
  std::filesystem::remove(node.config_file);
  node.changed();
  for (int i = 0; i < 4; ++i) node.turn();
  EXPECT_EQ(node.state(), "success");
  EXPECT_TRUE(node.reported->good);
  EXPECT_EQ(node.summary(0), kBalanced);
}

// Otherwise every agent with this file would end again and again.
TEST(MigManager, AFileThatEndsItsReadersRefusesALayoutUntilItIsAnother) {
  MigNode node("h100-80gb");
  node.config_file = (node.dir.path() / "layouts.yaml").string();
  const std::string text =
      "version: v1\nmig-configs:\n  other:\n    - devices: all\n      mig-enabled: false\n";
  const ReadingMark mark(node.dir.path() / "layouts-being-read");
  ASSERT_TRUE(mark.begin(text, "") && mark.begin(text, ""));
  std::ofstream(node.config_file) << text;
  node.start();
  node.wish("all-balanced");
  EXPECT_EQ(node.settle(), "failed") << node.log_text();
  EXPECT_THAT(node.reported->message, HasSubstr("layouts.yaml: reading it has ended this program"));
  std::ofstream(node.config_file) << text << "# another\n";
  node.changed();
  ASSERT_TRUE(node.turn());
  EXPECT_EQ(node.settle(), "success") << node.log_text();
  EXPECT_FALSE(FsRoot().exists(node.dir.path() / "layouts-being-read"));
}

TEST(MigManager, ALayoutThatTheStrategyCannotAdvertiseIsRefusedUntouched) {
  MigNode node("h100-80gb");
  node.config.flags.mig_strategy = config::MigStrategy::kSingle;
  node.start();
  node.wish("all-balanced");
  EXPECT_EQ(node.settle(), "failed") << node.log_text();
  ASSERT_TRUE(node.reported && !node.reported->good);
  EXPECT_THAT(node.reported->message,
              HasSubstr("with this layout nothing could be advertised: migStrategy single: more "
                        "than one MIG device type present on node"));
  EXPECT_THAT(node.reported->message, HasSubstr("set migStrategy to mixed"));
  EXPECT_EQ(node.summary(0), "MIG off");
  node.wish("all-1g.10gb");
  EXPECT_EQ(node.settle(), "success") << node.log_text();
}

TEST(MigManager, PodsThatHoldTheGpuAreMovedByTheController) {
  MigNode node("h100-80gb");
  node.settings.controller = true;
  node.controller = MigNode::drain;
  node.start();
  node.hold("train", "GPU-0");
  node.wish("all-1g.10gb");
  std::optional<cluster::MigChange> first;
  node.controller = [&](MigNode& self) {
    if (!first) first = self.change();
    MigNode::drain(self);
  };
  ASSERT_TRUE(node.reach(Phase::kAsking));
  node.turn();
  ASSERT_TRUE(first && node.change());
  EXPECT_THAT(first->pods, ElementsAre(cluster::ObjectKey{"default", "train"}));
  EXPECT_EQ(node.change()->before.at("nvidia.com/gpu"), 2);
  EXPECT_EQ(node.change()->after.at("nvidia.com/mig-1g.10gb"), 14);
  EXPECT_EQ(node.settle(), "success") << node.log_text();
  EXPECT_FALSE(node.cordoned);
}

TEST(MigManager, AGrantThatKubeletHasNotNamedYetIsWaitedFor) {
  MigNode node("h100-80gb");
  node.settings.controller = true;
  node.controller = MigNode::drain;
  node.start();
  const offer::Grant grant{.resource = {"nvidia.com/gpu"}, .ids = {"GPU-0"}};
  ASSERT_TRUE(node.book.reserve(grant));
  node.wish("all-1g.10gb");
  ASSERT_TRUE(node.reach(Phase::kDraining)) << node.log_text();
  for (int i = 0; i < 5; ++i) node.turn();
  EXPECT_EQ(node.summary(0), "MIG off");
  EXPECT_TRUE(node.change()->pods.empty()) << "nobody knows its Pod";
  node.book.withdraw(grant);
  EXPECT_EQ(node.settle(), "success") << node.log_text();
}

// Kubelet does not name what claims hold. Their Pods are published for the controller to evict.
TEST(MigManager, WhatAClaimHoldsIsWaitedFor) {
  MigNode node("h100-80gb", 2, MigNode::Claims::kNotKnown);
  node.settings.controller = true;
  node.controller = MigNode::drain;
  node.start();
  node.wish("all-1g.10gb");
  for (int i = 0; i < 5; ++i) node.turn();
  EXPECT_EQ(node.summary(0), "MIG off") << "nobody knows yet what claims hold";
  node.set_claims({{"GPU-0", {"team", "half"}}});
  ASSERT_TRUE(node.reach(Phase::kDraining)) << node.log_text();
  for (int i = 0; i < 5; ++i) node.turn();
  EXPECT_EQ(node.summary(0), "MIG off");
  EXPECT_THAT(node.change()->pods, ElementsAre(cluster::ObjectKey{"team", "pod-of-half"}));
  node.set_claims({});
  EXPECT_EQ(node.settle(), "success") << node.log_text();
}

TEST(MigManager, WithoutAControllerAHeldGpuIsNotChanged) {
  MigNode node("h100-80gb");
  node.hold("train", "GPU-0");
  node.wish("all-1g.10gb");
  EXPECT_EQ(node.settle(), "failed");
  EXPECT_THAT(node.reported->message, HasSubstr("default/train"));
  EXPECT_EQ(node.summary(0), "MIG off");
}

TEST(MigManager, WhatLeavesServiceIsWithheldAndWhatStaysIsNot) {
  MigNode node("h100-80gb", 1);
  node.wish("all-balanced");
  ASSERT_EQ(node.settle(), "success");
  const auto large = node.machine().gpus[0].mig_instances;
  node.config_file = (node.dir.path() / "layouts.yaml").string();
  std::ofstream(node.config_file)
      << "version: v1\nmig-configs:\n  next:\n    - devices: all\n      mig-enabled: true\n"
         "      mig-devices: {\"3g.40gb\": 1, \"1g.10gb\": 4}\n";
  node.settings.controller = true;
  node.controller = [](MigNode& self) {
    if (const auto change = self.change()) self.answer({.id = change->id, .cordoned = true});
  };
  node.start();
  const auto kept = node.kubelet.listed.at("nvidia.com/mig-3g.40gb");
  const auto old = node.kubelet.listed.at("nvidia.com/mig-2g.20gb");
  node.hold("small", *old.begin());
  node.hold("big", *kept.begin());
  node.wish("next");
  ASSERT_TRUE(node.reach(Phase::kDraining)) << node.log_text();
  node.turn();
  node.turn();
  EXPECT_EQ(node.kubelet.listed["nvidia.com/mig-3g.40gb"], kept);
  EXPECT_TRUE(node.kubelet.listed["nvidia.com/mig-2g.20gb"].empty());
  EXPECT_THAT(node.change()->pods, ElementsAre(cluster::ObjectKey{"default", "small"}));
  std::erase_if(node.kubelet.held, [](const auto& one) { return one.pod_name == "small"; });
  node.controller = MigNode::drain;
  EXPECT_EQ(node.settle(), "success") << node.log_text();
  EXPECT_EQ(node.kubelet.listed["nvidia.com/mig-3g.40gb"], kept) << "its UUID is the same";
  EXPECT_EQ(node.kubelet.listed["nvidia.com/mig-1g.10gb"].size(), 4U);
}

TEST(MigManager, APodThatDoesNotStopEndsTheChangeAndTheOldDevicesAreOffered) {
  MigNode node("h100-80gb");
  node.settings.controller = true;
  node.controller = [](MigNode& self) {
    const auto change = self.change();
    if (!change) return;
    const bool over = change->phase == cluster::MigPhase::kFinished;
    self.answer({.id = change->id, .cordoned = !over, .uncordoned = over});
  };
  node.start();
  node.hold("train", "GPU-0");
  node.wish("all-1g.10gb");
  EXPECT_EQ(node.settle(400), "failed");
  EXPECT_THAT(node.reported->message, HasSubstr("default/train"));
  node.loop();
  EXPECT_EQ(node.kubelet.listed["nvidia.com/gpu"].size(), 2U);
}

TEST(MigManager, AFailureOfTheHardwareIsUndone) {
  MigNode node("h100-80gb");
  node.wish("all-balanced");
  ASSERT_EQ(node.settle(), "success");
  const auto before = node.control.state(MigNode::uuid(0));
  node.control.fail_calls("create_gpu_instance 19@6",
                          {Code::kUnavailable, "create_gpu_instance: Unknown Error"});
  node.wish("all-1g.10gb");
  node.turn();
  EXPECT_EQ(node.settle(), "failed") << node.log_text();
  EXPECT_EQ(mig::layout_of(node.control.state(MigNode::uuid(0))), mig::layout_of(before));
  EXPECT_EQ(node.reported->reason, "MigChangeFailed");
  node.loop();
  EXPECT_EQ(node.kubelet.listed["nvidia.com/mig-3g.40gb"].size(), 2U);
  // It is retried only when a person removes the state label.
  for (int i = 0; i < 5; ++i) node.turn();
  EXPECT_EQ(node.state(), "failed");
  node.control.heal();
  node.node->labels.erase(cluster::kMigStateLabel);
  node.changed();
  EXPECT_EQ(node.settle(), "success") << node.log_text();
}

TEST(MigManager, ALayoutChangedByHandIsReportedAndLeft) {
  MigNode node("h100-80gb", 1);
  node.wish("all-balanced");
  ASSERT_EQ(node.settle(), "success");
  ASSERT_TRUE(node.control.destroy_compute_instance(MigNode::uuid(0), 1, 0) ||
              node.control.destroy_compute_instance(
                  MigNode::uuid(0), node.control.state(MigNode::uuid(0)).instances[0].id, 0));
  for (int i = 0; i < 4; ++i) node.turn();
  EXPECT_EQ(node.reported->reason, "MigLayoutDrift");
  EXPECT_EQ(node.state(), "success");
  EXPECT_NE(node.summary(0), kBalanced);
}

TEST(MigManager, AfterARebootTheLayoutIsMadeAgain) {
  MigNode node("h100-80gb");
  node.wish("all-balanced");
  ASSERT_EQ(node.settle(), "success");
  node.reboot();
  EXPECT_EQ(node.summary(0), "MIG off");
  for (int i = 0; i < 10; ++i) node.turn();
  EXPECT_EQ(node.settle(), "success") << node.log_text();
  EXPECT_EQ(node.summary(0), kBalanced);
}

TEST(MigManager, ARemovedLabelIsForgottenAndTheGpusStay) {
  MigNode node("h100-80gb");
  node.wish("all-balanced");
  ASSERT_EQ(node.settle(), "success");
  node.node->labels.erase(cluster::kMigConfigLabel);
  node.changed();
  for (int i = 0; i < 4; ++i) node.turn();
  EXPECT_EQ(node.state(), "");
  EXPECT_EQ(node.summary(0), kBalanced);
}

// Whoever waits for the new layout would take the old one's state for its own.
TEST(MigManager, ASuccessIsNotSaidOfAWishThatIsMadeMeanwhile) {
  MigNode node("h100-80gb");
  node.wish("all-balanced");
  bool done = false;
  node.before_write = [&](const NodeWriter::Change& change) {
    const auto state = change.labels.find(cluster::kMigStateLabel);
    if (done || state == change.labels.end() || state->second != "success") return;
    done = true;
    node.wish("all-1g.10gb");
  };
  while (!done) ASSERT_TRUE(node.turn());
  node.clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(node.settle(), "success") << node.log_text();
  EXPECT_EQ(node.summary(0), "1g.10gb x 7");
  for (const auto& said : node.sayings) {
    if (said.label != "all-1g.10gb" || said.state != "success") continue;
    EXPECT_EQ(said.layout, "1g.10gb x 7");
  }
}

TEST(MigManager, AChangeThatIsGivenUpLeavesNoPendingState) {
  for (const bool killed : {false, true}) {
    MigNode node("h100-80gb");
    node.settings.controller = true;
    node.start();
    node.wish("all-balanced");
    ASSERT_TRUE(node.reach(Phase::kAsking));
    node.turn();
    ASSERT_EQ(node.state(), "pending");
    node.node->labels.erase(cluster::kMigConfigLabel);
    node.changed();
    if (killed) node.start();
    for (int i = 0; i < 5; ++i) node.turn();
    EXPECT_EQ(node.state(), "") << killed;
    EXPECT_FALSE(node.open()) << killed;
    EXPECT_TRUE(node.reported && node.reported->good) << killed;
    EXPECT_EQ(node.reported->reason, std::string("MigUnmanaged")) << killed;
    EXPECT_EQ(node.summary(0), "MIG off");
  }
}

TEST(MigManager, NvidiasClientsArePausedAndAlwaysPutBack) {
  MigNode node("h100-80gb");
  constexpr const char* kDcgm = "nvidia.com/gpu.deploy.dcgm";
  constexpr const char* kNvsm = "nvidia.com/gpu.deploy.nvsm";
  node.node->labels[kDcgm] = "true";
  node.node->labels[kNvsm] = "false";
  node.wish("all-balanced");
  ASSERT_TRUE(node.reach(Phase::kDraining));
  node.turn();
  EXPECT_EQ(node.node->labels[kDcgm], kPausedForMig);
  EXPECT_EQ(node.settle(), "success");
  EXPECT_EQ(node.node->labels[kDcgm], "true");
  EXPECT_EQ(node.node->labels[kNvsm], "false");
}

TEST(MigManager, WhereNoJournalCanBeWrittenNothingIsChanged) {
  MigNode node("h100-80gb");
  std::filesystem::remove_all(node.dir.path() / "mig");
  std::ofstream(node.dir.path() / "mig") << "no folder";
  node.start();
  node.writable = false;
  node.wish("all-balanced");
  for (int i = 0; i < 20; ++i) node.turn();
  EXPECT_EQ(node.summary(0), "MIG off");
  node.writable = true;
  EXPECT_EQ(node.settle(400), "success") << node.log_text();
  EXPECT_EQ(node.summary(0), kBalanced);
}

}  // namespace
}  // namespace tranche::agent::mig_manager_test
