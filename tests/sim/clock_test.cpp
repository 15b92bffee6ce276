// The machine's time: wall-clock time, and one that advances when everybody waits.

#include "sim/state/clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support.h"

namespace tranche::sim::clock_test {
namespace {

using test::Signal;
using test::World;

constexpr std::uint64_t kSecond = 1'000'000'000;

// The clock waits for participants, however long this machine gives them no processor.
constexpr std::uint64_t kPatient = 3600 * kSecond;

// A clock outlives its threads: it is never destroyed.
Clock& make_clock(const std::shared_ptr<Simulation>& sim, const ProcessSlot& slot,
                  std::uint64_t grace_ns = kPatient) {
  static auto& kept = *new std::vector<Clock*>;  // NOLINT: see above; leak checkers find them here
  kept.push_back(new Clock(sim, slot, grace_ns));  // NOLINT
  return *kept.back();
}

class VirtualWorld : public World {
 public:
  VirtualWorld() : World("t4") {
    ::setenv("TRANCHE_SIM_CLOCK", "virtual", 1);
    sim = open();
    slot = *sim->claim_slot("");
  }
  ~VirtualWorld() { ::unsetenv("TRANCHE_SIM_CLOCK"); }

  std::shared_ptr<Simulation> sim;
  ProcessSlot* slot = nullptr;
};

TEST(Clock, WallTimeGoesOnAndWakesEndAWait) {
  const World world("t4");
  const auto sim = world.open();
  const auto slot = sim->claim_slot("");
  ASSERT_TRUE(slot);
  Clock& clock = make_clock(sim, **slot);
  EXPECT_FALSE(clock.is_virtual());
  const std::uint64_t begin = clock.now();
  clock.wait(begin + 2'000'000, clock.turn(), kNoWish);
  EXPECT_GE(clock.now(), begin + 2'000'000);
  std::thread other([&] { clock.wake(); });
  const std::uint32_t turn = clock.turn();
  clock.wait(kNoWish, turn - 1, kNoWish);  // a past turn
  other.join();
}

TEST(Clock, VirtualTimeJumpsToWhatTheLastRunnerWaitsFor) {
  VirtualWorld world;
  Clock& clock = make_clock(world.sim, *world.slot);
  ASSERT_TRUE(clock.is_virtual());
  clock.take_part();
  const std::uint64_t begin = clock.now();
  EXPECT_EQ(clock.now(), begin);
  const auto wait_until = [&](std::uint64_t time) {
    while (clock.now() < time) clock.wait(time, clock.turn(), kNoWish);
  };
  wait_until(begin + 3600 * kSecond);
  EXPECT_EQ(clock.now(), begin + 3600 * kSecond);
  // Another participating thread is waited for: it sees its own time, not the later one.
  std::atomic<bool> joined = false;
  std::uint64_t seen = 0;
  std::thread other([&] {
    clock.take_part();
    joined = true;
    wait_until(begin + 3700 * kSecond);
    seen = clock.now();
  });
  while (!joined) std::this_thread::yield();
  wait_until(begin + 4000 * kSecond);
  EXPECT_EQ(clock.now(), begin + 4000 * kSecond);
  other.join();
  EXPECT_EQ(seen, begin + 3700 * kSecond);
}

TEST(Clock, WhoDoesNotCallDoesNotHoldTheOthersUp) {
  VirtualWorld world;
  Clock& clock = make_clock(world.sim, *world.slot, 1'000'000);
  clock.take_part();
  const std::uint64_t begin = clock.now();
  // This thread joins and then waits for the other one, outside the library.
  std::thread([&] {
    clock.take_part();
    while (clock.now() < begin + kSecond) clock.wait(begin + kSecond, clock.turn(), kNoWish);
  }).join();
  EXPECT_EQ(clock.now(), begin + kSecond);
}

TEST(Clock, ProcessesWaitForEachOther) {
  VirtualWorld world;
  const Signal ready;
  // Both join before either waits.
  Clock& clock = make_clock(world.sim, *world.slot);
  clock.take_part();
  const std::uint64_t begin = now_ns(world.sim->state());
  const pid_t child = test::in_child([&] {
    const auto sim = world.open();
    Clock& own = make_clock(sim, **sim->claim_slot(""));
    own.take_part();
    ready.give();
    for (std::uint64_t step = 1; step <= 50; ++step) {
      const std::uint64_t time = begin + step * kSecond;
      while (own.now() < time) own.wait(time, own.turn(), kNoWish);
      if (own.now() != time) return 2;
    }
    return 0;
  });
  ready.await();
  for (std::uint64_t step = 0; step < 50; ++step) {
    const std::uint64_t time = begin + step * kSecond + kSecond / 2;
    while (clock.now() < time) clock.wait(time, clock.turn(), kNoWish);
    EXPECT_EQ(clock.now(), time);
  }
  clock.leave();
  EXPECT_EQ(test::wait_for(child), 0);
}

TEST(Clock, IsTheStatesNotThePrograms) {
  const World world("t4");
  ASSERT_TRUE(world.open());
  ::setenv("TRANCHE_SIM_CLOCK", "virtual", 1);
  auto refused = Simulation::open(world.options());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("clock is wall"), std::string::npos);
  ::setenv("TRANCHE_SIM_CLOCK", "sundial", 1);
  refused = Simulation::open(world.options());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  ::unsetenv("TRANCHE_SIM_CLOCK");
}

}  // namespace
}  // namespace tranche::sim::clock_test
