#include "agent/instances/instance_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "agent/dra/testing.h"

namespace tranche::agent::instance_maker_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace cut_node_testing;

TEST(InstanceMakerTest, TheFirstInstanceTurnsMigOnAndTheLastTurnsItOff) {
  CutNode node;
  auto maker = node.maker();
  const auto small = node.place(0, k1g, 6);
  const auto large = node.place(0, k3g, 0);
  ASSERT_TRUE(maker.make(small, node.machine));
  ASSERT_TRUE(maker.make(large, node.machine));
  EXPECT_EQ(node.layout(0), "3g.40gb, 1g.10gb");
  EXPECT_EQ(node.layout(1), "MIG off");
  EXPECT_THAT(node.quiet, ElementsAre(0)) << "let go of where the mode changes alone";

  const auto found = maker.find({large, small}).value();
  EXPECT_THAT(found.uuids, ElementsAre("MIG-0-1-2", "MIG-0-13-1"));
  EXPECT_EQ(found.machine, node.read());

  const auto calls = node.control.calls().size();
  ASSERT_TRUE(maker.make(large, node.machine)) << "again";
  EXPECT_EQ(node.control.calls().size(), calls + 1) << "a reading and nothing else";
  EXPECT_EQ(node.changes, 2);

  ASSERT_TRUE(maker.remove(large, node.machine));
  EXPECT_EQ(node.layout(0), "1g.10gb");
  ASSERT_TRUE(maker.remove(large, node.machine)) << "there is none any more";
  ASSERT_TRUE(maker.remove(small, node.machine));
  EXPECT_EQ(node.layout(0), "MIG off");
}

bool dies(const std::function<void()>& work) {
  try {
    work();
    return false;
  } catch (const test::Killed&) {
    return true;
  }
}

// Killed after each call to the driver: the same call does the rest, nothing is made twice.
TEST(InstanceMakerTest, GoesOnAfterEveryCrash) {
  for (const auto fault : {test::MigFault::kKilled, test::MigFault::kKilledDone}) {
    for (int n = 1; n < 20; ++n) {
      CutNode node;
      const auto place = node.place(0, k3g, 4);
      node.control.fault_at(n, fault);
      const bool killed = dies([&] { static_cast<void>(node.maker().make(place, node.machine)); });
      EXPECT_TRUE(killed || n > 4) << "call " << n << " was not made";
      node.control.heal();
      ASSERT_TRUE(node.maker().make(place, node.machine)) << n;
      EXPECT_EQ(node.layout(0), "3g.40gb") << n;
      node.control.fault_at(n, fault);
      dies([&] { static_cast<void>(node.maker().remove(place, node.machine)); });
      node.control.heal();
      ASSERT_TRUE(node.maker().remove(place, node.machine)) << n;
      EXPECT_EQ(node.layout(0), "MIG off") << n;
    }
  }
}

TEST(InstanceMakerTest, WhatIsInUseIsNotTakenAndItsUserIsNamed) {
  CutNode node;
  auto maker = node.maker();
  node.control.hold(node.uuid(0));
  const auto held = maker.make(node.place(0, k1g, 0), node.machine);
  ASSERT_FALSE(held);
  EXPECT_THAT(held.error().message(), HasSubstr("python (pid 7, Pod team/train)"));
  EXPECT_EQ(node.layout(0), "MIG off");
  node.control.release(node.uuid(0));
  ASSERT_TRUE(maker.make(node.place(0, k1g, 0), node.machine));

  const auto instance = node.control.state(node.uuid(0)).instances.at(0);
  node.control.hold(node.uuid(0), instance.id, 0);
  EXPECT_FALSE(maker.remove(node.place(0, k1g, 0), node.machine));
  EXPECT_EQ(node.layout(0), "1g.10gb");
}

// Changing a mode that needs a reset is up to the operator.
TEST(InstanceMakerTest, WhereTheModeNeedsAResetItStays) {
  CutNode node("a100-80gb");
  auto maker = node.maker();
  const auto off = maker.make(node.place(0, k1g, 0), node.machine);
  ASSERT_FALSE(off);
  EXPECT_THAT(off.error().message(), HasSubstr("MIG mode of GPU 0 is off, and needs a reset"));
  node.control.set_state(node.uuid(0), {.enabled = true, .pending = true});
  ASSERT_TRUE(maker.make(node.place(0, k1g, 0), node.machine));
  EXPECT_FALSE(maker.make_whole(node.uuid(0), node.machine));
  ASSERT_TRUE(maker.remove(node.place(0, k1g, 0), node.machine));
  EXPECT_EQ(node.layout(0), "no instances");
  EXPECT_FALSE(maker.make_whole(node.uuid(0), node.machine));
  EXPECT_THAT(node.quiet, IsEmpty());
}

TEST(InstanceMakerTest, AGpuIsMadeWholeWhereNothingIsOnIt) {
  CutNode node;
  auto maker = node.maker();
  ASSERT_TRUE(maker.make_whole(node.uuid(0), node.machine));
  EXPECT_EQ(node.changes, 0);
  node.control.set_state(node.uuid(0), {.enabled = true, .pending = true});
  ASSERT_TRUE(maker.make_whole(node.uuid(0), node.machine));
  EXPECT_EQ(node.layout(0), "MIG off");
  ASSERT_TRUE(maker.make(node.place(0, k1g, 0), node.machine));
  EXPECT_FALSE(maker.make_whole(node.uuid(0), node.machine));
  EXPECT_EQ(node.layout(0), "1g.10gb");
}

TEST(InstanceMakerTest, InstancesOfNoClaimAreSomebodyElses) {
  CutNode node;
  auto maker = node.maker();
  const auto ours = node.place(0, k1g, 0);
  ASSERT_TRUE(maker.make(ours, node.machine));
  ASSERT_TRUE(maker.make(node.place(1, k1g, 0), node.machine));
  const std::vector<gpu::GpuUuid> all{node.uuid(0), node.uuid(1)};
  EXPECT_THAT(maker.cut_by_others(all, {ours}).value(), ElementsAre(node.uuid(1)));
  node.control.fail_calls("read", {Code::kTimeout, "hangs"});
  EXPECT_FALSE(maker.cut_by_others(all, {ours}));
  EXPECT_FALSE(maker.find({ours}));
}

}  // namespace
}  // namespace tranche::agent::instance_maker_test
