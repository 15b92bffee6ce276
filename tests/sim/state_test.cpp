// The shared state: made once, kept whole through any death, and aware of who is alive.

#include <gmock/gmock.h>

#include <fstream>

#include "sim/gpu/memory.h"
#include "sim/gpu/uses.h"
#include "support.h"

namespace tranche::sim::test::state_test {
namespace {

using ::testing::HasSubstr;

TEST(StateFile, ManyProcessesMakeItOnce) {
  const World world("a100-80gb-x8");
  std::vector<pid_t> children;
  for (int i = 0; i < 12; ++i) {
    children.push_back(in_child([&] {
      const auto sim = Simulation::open(world.options());
      return sim && (*sim)->state().gpu_count == 8 ? 0 : 1;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(world.open()->state().gpu_count, 8U);
}

TEST(StateFile, MakersKilledAtAnyMomentLeaveNothingBroken) {
  for (int delay_us = 0; delay_us < 6000; delay_us += 300) {
    const World world("l20");
    const pid_t maker = in_child([&] {
      const auto sim = Simulation::open(world.options());
      return sim ? 0 : 1;
    });
    ::usleep(static_cast<useconds_t>(delay_us));
    ::kill(maker, SIGKILL);
    wait_for(maker);
    const auto sim = world.open();
    ASSERT_NE(sim, nullptr) << "killed after " << delay_us << " us";
    EXPECT_STREQ(sim->state().models[0].name, "NVIDIA L20");
  }
}

TEST(StateFile, OwnerOfTheLockMayDie) {
  const World world("l20");
  const auto sim = world.open();
  const Signal locked;
  const pid_t owner = in_child([&] {
    const Simulation::Guard guard(sim->state());
    locked.give();
    ::pause();
    return 0;
  });
  locked.await();
  ::kill(owner, SIGKILL);
  wait_for(owner);
  const Simulation::Guard guard(sim->state());
  SUCCEED();
}

TEST(StateFile, NeedsNoMachineFileOnceItIsMade) {
  const World world("t4");
  world.open();
  const auto sim = Simulation::open({.state = world.state_path()});
  ASSERT_TRUE(sim) << sim.error().message();
  EXPECT_STREQ((*sim)->state().machine, "t4");
}

TEST(StateFile, RefusesAnotherMachine) {
  const World world("t4");
  world.open();
  const auto sim = Simulation::open({machine_file("l20"), world.state_path()});
  ASSERT_FALSE(sim);
  EXPECT_EQ(sim.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(sim.error().message(), HasSubstr("another machine file"));
}

TEST(StateFile, ACopyOfTheMachineFileIsTheSameMachine) {
  const World world("t4");
  world.open();
  const auto copy = world.folder() / "copy.yaml";
  std::filesystem::copy_file(machine_file("t4"), copy);
  EXPECT_TRUE(Simulation::open({copy, world.state_path()}));
}

TEST(StateFile, RefusesAnotherVersion) {
  const World world("t4");
  world.open()->state().version = 99;
  const auto sim = Simulation::open(world.options());
  ASSERT_FALSE(sim);
  EXPECT_THAT(sim.error().message(), HasSubstr("another release"));
}

TEST(StateFile, RefusesATruncatedFile) {
  const World world("t4");
  world.open();
  std::filesystem::resize_file(world.state_path(), 4096);
  EXPECT_FALSE(Simulation::open(world.options()));
}

TEST(StateFile, SaysWhatToSetWhenNothingIsNamed) {
  const auto sim = Simulation::open({});
  ASSERT_FALSE(sim);
  EXPECT_THAT(sim.error().message(), HasSubstr("set TRANCHE_SIM"));
}

TEST(StateFile, DefaultPathIsTheSameForTheSameMachine) {
  const auto one = default_state_path(machine_file("l20"));
  const auto two = default_state_path(machine_file("l20"));
  const auto other = default_state_path(machine_file("t4"));
  ASSERT_TRUE(one && two && other);
  EXPECT_EQ(*one, *two);
  EXPECT_NE(*one, *other);
}

TEST(Processes, OwnSlotIsAliveUnderTheOwnPid) {
  const World world("t4");
  const auto sim = world.open();
  const auto slot = sim->claim_slot("me");
  ASSERT_TRUE(slot);
  EXPECT_EQ(sim->holder(0), ::getpid());
  sim->release_slot(*slot);
  EXPECT_EQ(sim->holder(0), std::nullopt);
}

TEST(Processes, AKilledProcessIsGoneWithItsMemory) {
  const World world("t4");
  const auto sim = world.open();
  const Signal ready;
  const pid_t child = in_child([&] {
    const auto own = Simulation::open(world.options());
    const auto slot = (*own)->claim_slot("child");
    const auto use = add_use(**own, **slot, {});
    if (!use || !take_memory(**own, **use, 100U << 20U)) return 1;
    ready.give();
    ::pause();
    return 0;
  });
  ready.await();
  ASSERT_EQ(sim->holder(0), child);
  EXPECT_EQ(memory_use(*sim, 0, kNone).used, 102ULL << 20U);  // 2 MiB when idle
  ::kill(child, SIGKILL);
  wait_for(child);
  EXPECT_EQ(sim->holder(0), std::nullopt);
  EXPECT_EQ(memory_use(*sim, 0, kNone).used, 2ULL << 20U);
}

TEST(Processes, AForkedChildDoesNotOwnItsParentsSlot) {
  const World world("t4");
  const auto sim = world.open();
  const auto slot = sim->claim_slot("parent");
  ASSERT_TRUE(slot);
  const pid_t parent = ::getpid();
  EXPECT_EQ(wait_for(in_child([&] { return sim->holder(0) == parent ? 0 : 1; })), 0);
  EXPECT_EQ(sim->holder(0), parent);
}

TEST(Processes, ADeadSlotIsUsedAgain) {
  const World world("t4");
  const auto sim = world.open();
  for (unsigned i = 0; i < kMaxProcesses + 8; ++i) {
    ASSERT_EQ(wait_for(in_child([&] {
                const auto own = Simulation::open(world.options());
                return (*own)->claim_slot("short") ? 0 : 1;
              })),
              0);
  }
  EXPECT_TRUE(sim->claim_slot("next"));
}

TEST(Memory, IsGivenOutExactlyOnceByMany) {
  const World world("t4");
  const auto sim = world.open();
  const MemoryUse before = memory_use(*sim, 0, kNone);
  const std::uint64_t free = before.total - before.used - before.reserved;
  const Signal done;
  constexpr int kChildren = 6;
  std::vector<pid_t> children;
  for (int i = 0; i < kChildren; ++i) {
    children.push_back(in_child([&] {
      const auto own = Simulation::open(world.options());
      const auto use = add_use(**own, **(*own)->claim_slot(""), {});
      while (take_memory(**own, **use, 64U << 20U)) {
      }
      done.give();
      ::pause();
      return 0;
    }));
  }
  for (int i = 0; i < kChildren; ++i) done.await();
  const std::uint64_t taken = memory_use(*sim, 0, kNone).used - before.used;
  EXPECT_EQ(taken, free / (64U << 20U) * (64U << 20U));
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    wait_for(child);
  }
}

}  // namespace
}  // namespace tranche::sim::test::state_test
