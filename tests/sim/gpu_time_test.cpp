// The timeline that processes share: what survives a kill, what becomes utilisation.

#include "sim/gpu/gpu_time.h"

#include <gtest/gtest.h>

#include <random>

#include "sim/gpu/mig.h"
#include "sim/gpu/uses.h"
#include "sim/gpu/utilisation.h"
#include "sim/state/clock.h"
#include "support.h"
#include "support/wait.h"

namespace tranche::sim::gpu_time_test {
namespace {

using test::World;

constexpr std::uint64_t kMs = 1'000'000;

struct Client {
  explicit Client(Simulation& machine, std::uint32_t gpu = 0) : sim(machine) {
    slot = *sim.claim_slot("");
    use = *add_use(sim, *slot, {.gpu = gpu});
    time.emplace(*GpuTime::open(sim, {.gpu = gpu}));
    lane = *time->add_lane({.process = slot, .use = use});
  }

  Simulation& sim;
  ProcessSlot* slot = nullptr;
  Use* use = nullptr;
  std::optional<GpuTime> time;
  std::uint64_t lane = 0;
};

// Virtual time that only the test advances.
class VirtualTime : public World {
 public:
  explicit VirtualTime(std::string_view machine) : World(machine) {
    ::setenv("TRANCHE_SIM_CLOCK", "virtual", 1);
    sim = open();
  }
  ~VirtualTime() { ::unsetenv("TRANCHE_SIM_CLOCK"); }
  void pass(std::uint64_t ns) const { sim->state().virtual_now_ns.fetch_add(ns); }
  std::uint64_t now() const { return now_ns(sim->state()); }

  std::shared_ptr<Simulation> sim;
};

TEST(GpuTime, TellsWhenWorkWasDone) {
  const VirtualTime world("t4");
  const Client client(*world.sim);
  const std::uint64_t begin = world.now();
  const std::uint64_t place = client.time->submit(client.lane, 3 * kMs);
  Progress progress = client.time->look(client.lane, place);
  EXPECT_FALSE(progress.done);
  EXPECT_FALSE(progress.contended);
  EXPECT_EQ(progress.time_ns, begin + 3 * kMs);
  world.pass(10 * kMs);
  progress = client.time->look(client.lane, place);
  EXPECT_TRUE(progress.done);
  EXPECT_EQ(progress.time_ns, begin + 3 * kMs);
  EXPECT_EQ(client.time->end_of(client.lane), place);
  client.time->remove_lane(client.lane);
  EXPECT_EQ(client.time->submit(client.lane, 1), 0U);
  EXPECT_TRUE(client.time->look(client.lane, 99).done);
}

TEST(GpuTime, GpusAndMigDevicesHaveTheirOwn) {
  const VirtualTime world("a100-40gb-mig");
  const auto devices = mig_devices(world.sim->state().gpus[0]);
  ASSERT_GT(devices.size(), 1U);
  const auto slot = world.sim->claim_slot("");
  ASSERT_TRUE(slot);
  std::vector<std::uint64_t> places;
  std::vector<std::pair<GpuTime, std::uint64_t>> lanes;
  for (const MigDevice device : {devices[0], devices[1]}) {
    const UseTarget target = {
        .gpu = 0, .gpu_instance = device.gpu_instance, .compute_instance = device.compute_instance};
    const auto use = add_use(*world.sim, **slot, target);
    const auto time = GpuTime::open(*world.sim, target);
    ASSERT_TRUE(use && time);
    lanes.emplace_back(*time, *time->add_lane({.process = *slot, .use = *use}));
    places.push_back(time->submit(lanes.back().second, 4 * kMs));
  }
  world.pass(4 * kMs);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    EXPECT_TRUE(lanes[i].first.look(lanes[i].second, places[i]).done);
  }
}

TEST(GpuTime, SlicesFollowThePolicy) {
  const VirtualTime world("l20");
  const Client a(*world.sim);
  const Client b(*world.sim);
  auto& policy = world.sim->state().gpus[0].time_slice;
  const std::uint64_t own = world.sim->state().models[0].time_slice_ns;
  EXPECT_EQ(own, 2 * kMs);
  const std::vector<std::pair<TimeSlice, std::uint64_t>> cases = {{TimeSlice::kDefault, own},
                                                                  {TimeSlice::kShort, own / 2},
                                                                  {TimeSlice::kMedium, own * 2},
                                                                  {TimeSlice::kLong, own * 4}};
  for (const auto& [slice, length] : cases) {
    policy.store(static_cast<std::uint32_t>(slice));
    const auto first = a.time->submit(a.lane, 2 * length);
    const auto second = b.time->submit(b.lane, 2 * length);
    world.pass(3 * length);
    // One of them has had its two slices, the other waits for its second.
    EXPECT_NE(a.time->look(a.lane, first).done, b.time->look(b.lane, second).done);
    world.pass(length);
    EXPECT_TRUE(a.time->look(a.lane, first).done);
    EXPECT_TRUE(b.time->look(b.lane, second).done);
  }
}

TEST(GpuTime, WorkBecomesUtilisation) {
  const VirtualTime world("t4");
  const std::uint64_t period = std::uint64_t{world.sim->state().models[0].sample_period_us} * 1000;
  const Client client(*world.sim);
  // To the beginning of a window, then a quarter of it.
  world.pass(period - world.now() % period);
  client.time->submit(client.lane, period / 4);
  world.pass(period);
  EXPECT_EQ(window_load(*world.sim, 0, last_window(*world.sim, 0)).permille, 250U);
  // Over the border of two windows.
  world.pass(period / 2);
  client.time->submit(client.lane, period);
  world.pass(2 * period);
  const std::uint64_t last = last_window(*world.sim, 0);
  EXPECT_EQ(window_load(*world.sim, 0, last - 1).permille, 500U);
  EXPECT_EQ(window_load(*world.sim, 0, last).permille, 500U);
}

TEST(GpuTime, WorkOfASlotThatWasClaimedAnewIsGone) {
  const VirtualTime world("t4");
  const Client other(*world.sim);
  {
    const Client gone(*world.sim);
    gone.time->submit(gone.lane, 1000 * kMs);
    world.sim->release_slot(gone.slot);
  }
  const auto slot = world.sim->claim_slot("the next one");
  ASSERT_TRUE(slot);
  const auto place = other.time->submit(other.lane, kMs);
  const auto progress = other.time->look(other.lane, place);
  EXPECT_FALSE(progress.contended);
  EXPECT_EQ(progress.time_ns, world.now() + kMs);
}

// Processes keep submitting and reading and are killed anywhere: the timeline stays whole, and the
// remaining ones have the GPU.
TEST(GpuTime, SurvivesKillsAtAnyInstruction) {
  const World world("t4");
  const auto sim = world.open();
  const Client own(*sim);
  std::mt19937 random{std::random_device{}()};
  for (int i = 0; i < 60; ++i) {
    std::vector<pid_t> pids;
    for (int p = 0; p < 3; ++p) {
      pids.push_back(test::in_child([&] {
        const auto again = world.open();
        const Client client(*again);
        for (;;) {
          const auto place = client.time->submit(client.lane, 50'000);
          client.time->look(client.lane, place);
        }
        return 0;
      }));
    }
    ::usleep(std::uniform_int_distribution<unsigned>(500, 4000)(random));
    for (const pid_t pid : pids) {
      ASSERT_EQ(::kill(pid, SIGKILL), 0);
      int status = 0;
      ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    }
    const Turns& turns = sim->state().turns[0];
    own.time->bring_up_to_date();
    const Timeline& line = turns.timelines[turns.active.load()];
    std::uint32_t rates = 0;
    for (std::uint32_t l = 0; l < line.lane_count; ++l) {
      EXPECT_LE(line.lanes[l].executed_ns, line.lanes[l].submitted_ns);
      rates += line.lanes[l].rate;
    }
    EXPECT_LE(rates, kFullRate);
    EXPECT_LE(line.now_ns, now_ns(sim->state()));
  }
  // The dead are found after a while; then the GPU is this process's alone.
  const auto alone = [&] {
    own.time->bring_up_to_date();
    const Turns& turns = sim->state().turns[0];
    return turns.timelines[turns.active.load()].lane_count == 1;
  };
  ASSERT_TRUE(tranche::test::eventually(alone));
  const auto place = own.time->submit(own.lane, 1);
  EXPECT_TRUE(tranche::test::eventually([&] { return own.time->look(own.lane, place).done; }));
}

}  // namespace
}  // namespace tranche::sim::gpu_time_test
