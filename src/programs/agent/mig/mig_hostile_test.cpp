// Hostile texts and clocks change nothing that somebody holds and keep no change open.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "agent/mig/testing.h"

namespace tranche::agent::mig_hostile_test {
namespace {

using mig_testing::MigNode;
using testing::HasSubstr;
using Phase = mig::Journal::Phase;

constexpr const char* kHalf =
    "version: v1\nmig-configs:\n  half:\n    - devices: all\n      mig-enabled: true\n"
    "      mig-devices: {\"3g.40gb\": 2}\n";

void write_layouts(MigNode& node, const std::string& text) {
  std::ofstream(node.config_file) << text;
}

struct WithFile : MigNode {
  WithFile() : MigNode("h100-80gb") {
    config_file = (dir.path() / "layouts.yaml").string();
    write_layouts(*this, kHalf);
    start();
    wish("half");
    EXPECT_EQ(settle(), "success") << log_text();
  }
  void turns(int count) {
    for (int i = 0; i < count; ++i) {
      turn();
      clock.advance(std::chrono::seconds(1));
    }
  }
};

TEST(MigHostile, AFileThatIsBrokenTakesNoSuccessAway) {
  WithFile node;
  write_layouts(node, "version: v1\nmig-configs:\n  half:\n    - devices: al");
  node.turns(5);
  EXPECT_EQ(node.state(), "success") << node.log_text();
  EXPECT_THAT(node.log_text(), HasSubstr("the file of MIG layouts cannot be read"));
}

// If the outcome were forgotten meanwhile, a change by hand would be reverted.
TEST(MigHostile, AFileThatIsBrokenForAWhileRevertsNothing) {
  WithFile node;
  node.control.set_state(MigNode::uuid(0), {.enabled = true, .pending = true});
  node.turns(3);
  EXPECT_EQ(node.reported->reason, "MigLayoutDrift");
  const auto by_hand = node.summary(0);
  write_layouts(node, "version: v");
  node.turns(3);
  write_layouts(node, kHalf);
  node.turns(10);
  EXPECT_EQ(node.summary(0), by_hand) << node.log_text();
  EXPECT_EQ(node.reported->reason, "MigLayoutDrift");
}

std::string layouts_of_sevens() {
  return "version: v1\nmig-configs:\n  half:\n    - devices: all\n      mig-enabled: true\n"
         "      mig-devices: {\"1g.10gb\": 7}\n";
}

// One edit of the ConfigMap would drain every node with the layout at once.
TEST(MigHostile, AnEditedLayoutIsAppliedWhenSomebodyAsks) {
  WithFile node;
  const auto before = node.summary(0);
  write_layouts(node, layouts_of_sevens());
  node.turns(5);
  EXPECT_EQ(node.summary(0), before) << node.log_text();
  EXPECT_EQ(node.state(), "success");
  EXPECT_EQ(node.reported->reason, "MigLayoutDrift");
  EXPECT_THAT(node.reported->message, HasSubstr("the text of the layout half is another one"));
  node.start();  // a restarted agent finds no new wish either
  node.turns(5);
  EXPECT_EQ(node.summary(0), before) << node.log_text();
  node.node->labels.erase(cluster::kMigStateLabel);
  node.changed();
  node.turn();
  EXPECT_EQ(node.settle(), "success");
  EXPECT_NE(node.summary(0), before);
  EXPECT_EQ(node.reported->reason, "MigChanged");
}

TEST(MigHostile, AnEditThatIsTakenBackIsForgotten) {
  WithFile node;
  write_layouts(node, layouts_of_sevens());
  node.turns(3);
  EXPECT_EQ(node.reported->reason, "MigLayoutDrift");
  write_layouts(node, kHalf);
  node.turns(3);
  EXPECT_EQ(node.reported->reason, "MigChanged") << node.log_text();
  EXPECT_EQ(node.state(), "success");
}

TEST(MigHostile, AnEditThatDoesNotFitSaysWhy) {
  WithFile node;
  const auto before = node.summary(0);
  write_layouts(node,
                "version: v1\nmig-configs:\n  half:\n    - devices: all\n      mig-enabled: true\n"
                "      mig-devices: {\"1g.10gb\": 9}\n");
  node.turns(5);
  EXPECT_EQ(node.summary(0), before);
  EXPECT_EQ(node.state(), "success");
  EXPECT_EQ(node.reported->reason, "MigLayoutDrift");
  EXPECT_THAT(node.reported->message, HasSubstr("It would fail: "));
}

TEST(MigHostile, ABrokenFileEndsNoChange) {
  WithFile node;
  node.settings.controller = true;
  node.start();
  node.hold("train", node.machine().gpus[0].mig_instances[0].uuid.value);
  write_layouts(node, std::string(kHalf) +
                          "  small:\n    - devices: all\n      mig-enabled: true\n"
                          "      mig-devices: {\"1g.10gb\": 7}\n");
  node.controller = [](MigNode& self) {
    const auto change = self.change();
    if (change) self.answer({.id = change->id, .cordoned = true, .uncordoned = true});
  };
  node.wish("small");
  ASSERT_TRUE(node.reach(Phase::kDraining)) << node.log_text();
  write_layouts(node, "version: v");
  node.turns(5);
  EXPECT_EQ(node.now_in(), Phase::kDraining) << node.log_text();
}

TEST(MigHostile, AFileThatIsBrokenIsSaidToWhoAsksForALayoutOfIt) {
  WithFile node;
  write_layouts(node, "version: v");
  node.wish("other");
  node.turns(3);
  EXPECT_EQ(node.state(), "failed") << node.log_text();
}

// Anybody who may patch Nodes can write it, and an agent may have no journal of its own.
TEST(MigHostile, AJournalOfTheAnnotationChangesNothingThatAPodHolds) {
  MigNode node("h100-80gb");
  node.hold("train", "GPU-0");
  mig::Journal forged{.id = "w-1",
                      .layout = "all-1g.10gb",
                      .phase = Phase::kChanging,
                      .from = {{MigNode::uuid(0), {}}},
                      .to = {{MigNode::uuid(0), {.enabled = true, .instances = {}}}},
                      .started = node.clock.wall_now(),
                      .deadline = node.clock.wall_now() + std::chrono::hours(9000),
                      .boot = "boot",
                      .touched = true,
                      .trouble = {}};
  const cluster::MigChange change{.id = "w-1",
                                  .layout = "all-1g.10gb",
                                  .phase = cluster::MigPhase::kChanging,
                                  .written_at = node.clock.wall_now(),
                                  .deadline = node.clock.wall_now(),
                                  .journal = mig::encode(forged)};
  node.node->annotations[cluster::kMigChangeAnnotation] = cluster::encode(change);
  node.start();
  for (int i = 0; i < 120 && (i < 3 || node.open()); ++i) {
    node.turn();
    EXPECT_EQ(node.summary(0), "MIG off");
    node.clock.advance(std::chrono::seconds(10));
  }
  EXPECT_FALSE(node.open()) << node.log_text();
}

TEST(MigHostile, TheTextForTheControllerIsRenewedWhenTheClockIsSetBack) {
  MigNode node("h100-80gb");
  node.hold("train", "GPU-0");
  node.settings.controller = true;
  node.start();
  node.wish("all-1g.10gb");
  ASSERT_TRUE(node.reach(Phase::kAsking));
  node.turn();
  const auto before = node.change()->written_at;
  node.clock.set_back(std::chrono::hours(24));
  node.turn();
  EXPECT_LT(node.change()->written_at, before);
  EXPECT_LT(node.change()->deadline, before);
}

}  // namespace
}  // namespace tranche::agent::mig_hostile_test
