// The timeline of a GPU in virtual time: what each context gets, and when.

#include "sim/gpu/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace tranche::sim::timeline_test {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSlice = 2 * kMs;

struct Stretch {
  std::uint64_t lane;
  std::uint64_t begin;
  std::uint64_t end;
  std::uint32_t rate;
};

// A timeline, and all its reports.
class World : public TimelineSink {
 public:
  void ran(const Lane& lane, std::uint64_t begin, std::uint64_t end) override {
    if (begin < end) runs.push_back({lane.id, begin, end, lane.rate});
  }
  void closed(const Segment& segment) override {
    history[segment.sequence % history.size()] = segment;
  }

  std::uint64_t add(std::uint32_t group = kNoGroup, std::uint32_t cap = kFullRate) {
    const std::uint64_t id = ++last_;
    EXPECT_TRUE(add_lane(line(), {.id = id, .cap = cap, .group = group}));
    return id;
  }
  // The place at which the work is done.
  std::uint64_t submit(std::uint64_t lane, std::uint64_t ns) {
    Lane* const found = find_lane(line(), lane);
    found->submitted_ns += ns;
    return found->submitted_ns;
  }
  void until(std::uint64_t time) { advance(line(), time, kSlice, *this); }
  void pass(std::uint64_t ns) { until(line().now_ns + ns); }
  void remove(std::uint64_t lane) { remove_lane(line(), lane, *this); }

  std::uint64_t executed(std::uint64_t lane) { return find_lane(line(), lane)->executed_ns; }
  std::optional<std::uint64_t> when(std::uint64_t lane, std::uint64_t place) {
    return time_of(line(), history, *find_lane(line(), lane), place);
  }
  std::uint64_t foresee(std::uint64_t lane, std::uint64_t place) {
    return predict(line(), lane, place, kSlice, line().now_ns + 1000 * kMs);
  }
  Timeline& line() { return *line_; }

  std::vector<Stretch> runs;
  std::vector<Segment> history = std::vector<Segment>(1024);

 private:
  std::unique_ptr<Timeline> line_ = std::make_unique<Timeline>();
  std::uint64_t last_ = 0;
};

TEST(Timeline, OneContextHasTheWholeGpu) {
  World world;
  const auto lane = world.add();
  world.pass(5 * kMs);
  const auto place = world.submit(lane, 30 * kMs);
  EXPECT_EQ(world.foresee(lane, place), 35 * kMs);
  world.pass(100 * kMs);
  EXPECT_EQ(world.when(lane, place), 35 * kMs);
  EXPECT_EQ(world.when(lane, place / 2), 20 * kMs);
}

TEST(Timeline, TwoContextsTakeTurns) {
  World world;
  const auto a = world.add();
  const auto b = world.add();
  const auto a_place = world.submit(a, 6 * kMs);
  const auto b_place = world.submit(b, 6 * kMs);
  EXPECT_EQ(world.foresee(a, a_place), 10 * kMs);
  EXPECT_EQ(world.foresee(b, b_place), 12 * kMs);
  world.pass(5 * kMs);
  EXPECT_EQ(world.executed(a), 3 * kMs);
  EXPECT_EQ(world.executed(b), 2 * kMs);
  world.pass(20 * kMs);
  EXPECT_EQ(world.when(a, a_place), 10 * kMs);
  EXPECT_EQ(world.when(b, b_place), 12 * kMs);
}

TEST(Timeline, AContextThatHasNoWorkGivesItsSliceAway) {
  World world;
  const auto a = world.add();
  const auto b = world.add();
  world.submit(a, kMs / 2);
  const auto b_place = world.submit(b, 4 * kMs);
  world.pass(10 * kMs);
  EXPECT_EQ(world.when(b, b_place), 4 * kMs + kMs / 2);
}

TEST(Timeline, WhoComesLaterWaitsForTheSliceToEnd) {
  World world;
  const auto a = world.add();
  const auto b = world.add();
  world.submit(a, 100 * kMs);
  world.pass(kMs / 2);
  const auto first = world.submit(b, kMs / 10);
  EXPECT_EQ(world.foresee(b, first), kSlice + kMs / 10);
  world.pass(9 * kMs + kMs / 2);
  // Nobody waited when a's next slices ended: now b gets its turn at once.
  EXPECT_EQ(world.when(b, first), kSlice + kMs / 10);
  const auto second = world.submit(b, kMs / 10);
  EXPECT_EQ(world.foresee(b, second), 10 * kMs + kMs / 10);
}

TEST(Timeline, ClientsOfOneMpsServerRunAtOnce) {
  World world;
  const auto a = world.add(7);
  const auto b = world.add(7);
  const auto alone = world.add();
  const auto a_place = world.submit(a, 2 * kMs);
  const auto b_place = world.submit(b, 3 * kMs);
  world.submit(alone, 2 * kMs);
  world.pass(30 * kMs);
  // A slice of theirs at half the rate each, one of the other's, then theirs to the end.
  EXPECT_EQ(world.when(a, a_place), 6 * kMs);
  EXPECT_EQ(world.when(b, b_place), 7 * kMs);
}

TEST(Timeline, ActiveThreadPercentagesBoundTheRate) {
  World world;
  const auto a = world.add(7, 300);
  const auto b = world.add(7, 300);
  const auto c = world.add(7, 900);
  const auto a_place = world.submit(a, 3 * kMs);
  world.pass(20 * kMs);
  EXPECT_EQ(world.when(a, a_place), 10 * kMs);
  // 300 + 300 + 900 is more than there is: two thirds of it each.
  world.submit(a, 200 * kMs);
  world.submit(b, 200 * kMs);
  world.submit(c, 600 * kMs);
  world.pass(100 * kMs);
  EXPECT_EQ(world.executed(a), 3 * kMs + 20 * kMs);
  EXPECT_EQ(world.executed(b), 20 * kMs);
  EXPECT_EQ(world.executed(c), 60 * kMs);
}

TEST(Timeline, TheWorkOfALaneThatIsGoneVanishes) {
  World world;
  const auto a = world.add();
  const auto b = world.add();
  world.submit(a, 1000 * kMs);
  const auto place = world.submit(b, 4 * kMs);
  world.pass(3 * kMs);
  world.remove(a);
  EXPECT_EQ(world.line().lane_count, 1U);
  world.pass(50 * kMs);
  EXPECT_EQ(world.when(b, place), 6 * kMs);
}

TEST(Timeline, WhatTheHistoryNoLongerHoldsIsNotKnown) {
  World world;
  world.history.resize(4);
  const auto a = world.add();
  const auto place = world.submit(a, kMs);
  for (int i = 0; i < 10; ++i) {
    world.pass(10 * kMs);
    world.submit(a, kMs);
  }
  world.pass(10 * kMs);
  EXPECT_EQ(world.when(a, place), std::nullopt);
  EXPECT_EQ(world.when(a, 11 * place), 101 * kMs);
}

TEST(Timeline, NoMoreLanesThanFit) {
  World world;
  for (unsigned i = 0; i < kMaxLanes; ++i) world.add();
  EXPECT_FALSE(add_lane(world.line(), {.id = 1000}));
}

// Random machines: contexts and MPS clients come, go and submit at random times.
class RandomWorld : public testing::TestWithParam<unsigned> {
 protected:
  struct Work {
    std::uint64_t lane;
    std::uint64_t place;
    std::uint64_t submitted_at;
    std::uint64_t ns;
  };

  unsigned pick(unsigned bound) {
    return std::uniform_int_distribution<unsigned>(0, bound - 1)(random_);
  }

  void step() {
    switch (pick(6)) {
      case 0:
        if (lanes_.size() < 6) add();
        break;
      case 1:
        if (lanes_.size() > 1 && pick(4) == 0) remove();
        break;
      case 2:
      case 3:
        if (!lanes_.empty()) submit();
        break;
      default:
        world_.pass(pick(5 * kMs) + 1);
    }
  }

  void add() {
    constexpr std::uint32_t kCaps[] = {100, 250, 500, 1000};
    const std::uint32_t group = pick(3);
    lanes_.push_back(world_.add(group, group == kNoGroup ? kFullRate : kCaps[pick(4)]));
  }
  void remove() {
    const auto at = lanes_.begin() + pick(static_cast<unsigned>(lanes_.size()));
    world_.remove(*at);
    std::erase_if(works_, [&](const Work& work) { return work.lane == *at; });
    lanes_.erase(at);
  }
  void submit() {
    const auto lane = lanes_[pick(static_cast<unsigned>(lanes_.size()))];
    const std::uint64_t ns = pick(4 * kMs) + 1;
    works_.push_back({lane, world_.submit(lane, ns), world_.line().now_ns, ns});
  }

  bool anyone_has_work() {
    return std::ranges::any_of(
        lanes_, [&](std::uint64_t lane) { return find_lane(world_.line(), lane)->has_work(); });
  }

  World world_;
  std::vector<std::uint64_t> lanes_;
  std::vector<Work> works_;
  std::mt19937 random_{GetParam()};
};

TEST_P(RandomWorld, KeepsWhatAGpuKeeps) {
  for (int i = 0; i < 400; ++i) step();
  while (anyone_has_work()) world_.pass(kMs);

  // At each moment the rates sum up to at most the whole GPU.
  std::map<std::uint64_t, std::int64_t> changes;
  for (const Stretch& run : world_.runs) {
    changes[run.begin] += run.rate;
    changes[run.end] -= run.rate;
  }
  std::int64_t rate = 0;
  for (const auto& [time, change] : changes) {
    rate += change;
    EXPECT_GE(rate, 0);
    EXPECT_LE(rate, kFullRate) << "at " << time;
  }
  for (const Work& work : works_) {
    const auto done = world_.when(work.lane, work.place);
    const auto begun = world_.when(work.lane, work.place - work.ns + 1);
    if (!done || !begun) continue;
    // Nothing runs before it is submitted, nor faster than the whole GPU runs it.
    EXPECT_GT(*begun, work.submitted_at);
    EXPECT_GE(*done - *begun + 1, work.ns);
  }
  // In order within a context.
  for (const Work& one : works_) {
    for (const Work& other : works_) {
      if (one.lane != other.lane || one.place >= other.place) continue;
      const auto first = world_.when(one.lane, one.place);
      const auto second = world_.when(other.lane, other.place);
      if (first && second) {
        EXPECT_LT(*first, *second);
      }
    }
  }
}

TEST_P(RandomWorld, NeverIdlesWhileThereIsWork) {
  // Contexts without caps that always have work: no moment is lost.
  const unsigned count = pick(5) + 1;
  for (unsigned i = 0; i < count; ++i) lanes_.push_back(world_.add());
  for (const auto lane : lanes_) world_.submit(lane, 1000 * kMs);
  std::uint64_t passed = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t ns = pick(3 * kMs) + 1;
    world_.pass(ns);
    passed += ns;
    std::uint64_t sum = 0;
    std::uint64_t least = ~std::uint64_t{0};
    std::uint64_t most = 0;
    for (const auto lane : lanes_) {
      sum += world_.executed(lane);
      least = std::min(least, world_.executed(lane));
      most = std::max(most, world_.executed(lane));
    }
    EXPECT_EQ(sum, passed);
    // Fair: nobody is ahead by more than a slice.
    EXPECT_LE(most - least, kSlice);
  }
}

TEST_P(RandomWorld, PredictionsComeTrueWhenNobodyInterferes) {
  for (int i = 0; i < 100; ++i) step();
  if (lanes_.empty()) add();
  submit();
  const Work work = works_.back();
  const std::uint64_t foreseen = world_.foresee(work.lane, work.place);
  // In steps of any length.
  while (world_.line().now_ns < foreseen) {
    world_.until(std::min<std::uint64_t>(foreseen, world_.line().now_ns + pick(kMs) + 1));
  }
  EXPECT_EQ(world_.when(work.lane, work.place), foreseen);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWorld, testing::Range(1U, 60U));

}  // namespace
}  // namespace tranche::sim::timeline_test
