// MIG modes that wait for a reset or a reboot: a mode that somebody set is not reverted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/mig/testing.h"

namespace tranche::agent::mig_waits_test {
namespace {

using mig_testing::MigNode;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kSevenSmall = "1g.10gb x 7";
constexpr const char* kSmall = "all-1g.10gb";

// A100s in a virtual machine, where nothing resets them, or on bare metal.
struct Ampere : MigNode {
  explicit Ampere(bool passed_through = true) : MigNode("a100-80gb") {
    const auto machine = this->machine();
    for (const auto& gpu : machine.gpus) {
      control.add(gpu.uuid, {.pci = gpu.pci,
                             .geometry = gpu.mig_geometry,
                             .mode_needs_reset = true,
                             .no_reset = passed_through});
    }
  }
  // `nvidia-smi -i GPU -mig MODE` in the virtual machine.
  void set(int gpu, bool enabled) {
    auto state = control.state(uuid(gpu));
    state.pending = enabled;
    control.set_state(uuid(gpu), state);
  }
  void turns(int count) {
    for (int i = 0; i < count; ++i) {
      turn();
      clock.advance(std::chrono::seconds(1));
    }
  }
  bool waits(int gpu) const {
    const auto state = control.state(uuid(gpu));
    return state.pending != state.enabled;
  }
};

TEST(MigWaits, AModeThatWaitsForARebootIsWaitedForAndNobodyIsEvicted) {
  Ampere node;
  node.set(0, true);
  node.set(1, true);
  node.hold("train", "GPU-0");
  node.wish(kSmall);
  EXPECT_EQ(node.settle(), "failed") << node.log_text();
  EXPECT_EQ(node.changes(), 0);
  EXPECT_FALSE(node.open());
  EXPECT_EQ(node.reported->reason, "MigNotChanged");
  EXPECT_EQ(
      node.reported->message,
      "the layout all-1g.10gb is not in force; nothing was changed: MIG mode on of GPU 0, 1 is "
      "already waiting for a reboot, for nothing can reset a GPU that is passed through to "
      "this machine: reboot it, and the layout is applied");
  node.turns(30);
  EXPECT_EQ(node.state(), "failed");
  EXPECT_TRUE(node.waits(0) && node.waits(1));
  node.reboot();
  node.turn();
  EXPECT_EQ(node.settle(), "success") << node.log_text();
  EXPECT_EQ(node.summary(0), kSevenSmall);
  EXPECT_EQ(node.summary(1), kSevenSmall);
  EXPECT_TRUE(node.reported->good);
}

TEST(MigWaits, TheAdviceOfAFailedChangeLeadsToTheLayout) {
  for (const bool seen : {true, false}) {
    Ampere node;
    node.wish(kSmall);
    EXPECT_EQ(node.settle(), "failed");
    EXPECT_THAT(node.reported->message, HasSubstr("nvidia-smi -i 0 -mig 1"));
    EXPECT_FALSE(node.waits(0));
    node.set(0, true);
    node.set(1, true);
    if (seen) {
      node.turns(12);
      EXPECT_THAT(node.reported->message, HasSubstr("already waiting for a reboot"));
    }
    node.reboot();
    node.turn();
    EXPECT_EQ(node.settle(), "success") << seen << node.log_text();
    EXPECT_EQ(node.summary(1), kSevenSmall) << seen;
  }
}

TEST(MigWaits, WhereSomeGpusWaitTheOthersAreNamed) {
  Ampere node;
  node.set(1, true);
  node.wish(kSmall);
  EXPECT_EQ(node.settle(), "failed");
  EXPECT_THAT(node.reported->message, AllOf(HasSubstr("MIG mode on of GPU 1 is already waiting"),
                                            HasSubstr("nvidia-smi -i 0 -mig 1; reboot it")));
  EXPECT_EQ(node.changes(), 0);
  node.set(0, true);
  node.turns(12);
  EXPECT_THAT(node.reported->message, HasSubstr("MIG mode on of GPU 0, 1 is already waiting"));
  node.reboot();
  node.turn();
  EXPECT_EQ(node.settle(), "success") << node.log_text();
}

TEST(MigWaits, AModeThatIsTakenBackIsWaitedForNoLonger) {
  Ampere node;
  node.set(0, true);
  node.set(1, true);
  node.wish(kSmall);
  EXPECT_EQ(node.settle(), "failed");
  node.set(0, false);
  node.set(1, false);
  node.turns(40);
  EXPECT_EQ(node.state(), "failed");
  EXPECT_EQ(node.reported->reason, "MigChangeFailed") << "it was tried";
  EXPECT_THAT(node.reported->message, HasSubstr("nvidia-smi -i 0 -mig 1"));
}

TEST(MigWaits, AfterAFailedChangeTheModeThatARebootBringsIsNotTurnedBack) {
  Ampere node;
  node.wish("all-disabled");
  EXPECT_EQ(node.settle(), "success");
  node.turn();
  node.wish("all-nothing");
  node.turn();
  EXPECT_EQ(node.settle(), "failed");
  node.set(0, true);
  node.reboot();
  node.turns(30);
  EXPECT_EQ(node.summary(0), "no instances") << node.log_text();
  EXPECT_EQ(node.summary(1), "MIG off");
  EXPECT_EQ(node.changes(), 0);
}

TEST(MigWaits, WithALayoutInForceItIsDriftBeforeTheRebootAndAfterIt) {
  Ampere node;
  node.wish("all-disabled");
  EXPECT_EQ(node.settle(), "success");
  node.set(0, true);
  node.turns(12);
  EXPECT_EQ(node.reported->reason, "MigLayoutDrift") << "seen";
  EXPECT_THAT(node.reported->message, HasSubstr("(MIG mode on of GPU 0 waits for a reset)"));
  EXPECT_TRUE(node.waits(0));
  node.reboot();
  node.turns(30);
  EXPECT_EQ(node.reported->reason, "MigLayoutDrift");
  EXPECT_EQ(node.summary(0), "no instances") << "it is left so";
  EXPECT_EQ(node.state(), "success");
}

TEST(MigWaits, OffThatSomebodySetIsLeftTooAndTheOtherGpuGetsItsInstancesBack) {
  Ampere node;
  node.set(0, true);
  node.set(1, true);
  node.wish(kSmall);
  node.settle();
  node.reboot();
  node.turn();
  ASSERT_EQ(node.settle(), "success") << node.log_text();
  node.turns(3);
  node.set(0, false);
  node.reboot();
  node.turns(40);
  EXPECT_EQ(node.summary(0), "MIG off") << node.log_text();
  EXPECT_EQ(node.summary(1), kSevenSmall);
  EXPECT_EQ(node.reported->reason, "MigLayoutDrift");
}

TEST(MigWaits, ANewLabelThatAsksForTheModeInForceTakesItBackAndNobodyIsDrained) {
  Ampere node;
  node.set(0, true);
  node.hold("train", "GPU-0");
  node.wish("all-disabled");
  EXPECT_EQ(node.settle(), "success") << node.log_text();
  EXPECT_FALSE(node.waits(0));
  EXPECT_FALSE(node.kubelet.held.empty());
  EXPECT_TRUE(node.asked.empty()) << "no program of ours had to let go";
}

TEST(MigWaits, WithoutALabelNothingIsDoneBeforeOrAfterTheReboot) {
  Ampere node;
  node.set(0, true);
  node.turns(15);
  node.reboot();
  node.turns(15);
  EXPECT_EQ(node.summary(0), "no instances");
  EXPECT_EQ(node.changes(), 0);
}

TEST(MigWaits, OnAMachineOfItsOwnTheModeIsPutInForceByAReset) {
  Ampere node(false);
  node.set(0, true);
  node.wish(kSmall);
  EXPECT_EQ(node.settle(), "success") << node.log_text();
  EXPECT_EQ(node.summary(0), kSevenSmall);
}

TEST(MigWaits, AChangeThatFailsGivesBackTheModeThatWaited) {
  Ampere node(false);
  node.set(0, true);
  node.control.fail_calls("set_mode on GPU-1", {Code::kUnavailable, "Unknown Error"});
  node.wish(kSmall);
  EXPECT_EQ(node.settle(), "failed") << node.log_text();
  EXPECT_EQ(node.summary(0), "no instances") << "it came with the reset, without instances";
  EXPECT_EQ(node.summary(1), "MIG off");
  EXPECT_THAT(node.reported->message, HasSubstr("the change was undone"));
}

}  // namespace
}  // namespace tranche::agent::mig_waits_test
