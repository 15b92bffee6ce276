// The promises of the policy, in virtual time (testing.h).

#include "limit/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "limit/testing.h"

namespace tranche::limit::device_test {
namespace {

using testing::Requests;
using testing::storm;
using testing::VirtualDevice;
using namespace std::chrono_literals;

double percent(Ns part, Ns whole) {
  return 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

double deviation(const std::vector<double>& values) {
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

struct CapCase {
  std::string name;
  std::uint32_t permille;
  Ns length;
  bool beside_a_storm;
};

class Caps : public ::testing::TestWithParam<CapCase> {};

TEST_P(Caps, HoldOnAverageAndInEachTenthOfASecond) {
  VirtualDevice device;
  const TenantId capped = device.add({.permille = GetParam().permille}, storm(GetParam().length));
  if (GetParam().beside_a_storm) device.add({}, storm(300us));
  device.run(1s);
  const Ns before = device.executed(capped);
  device.run(10s);
  EXPECT_NEAR(percent(device.executed(capped) - before, 10s), GetParam().permille / 10.0, 3.0);
  EXPECT_LE(deviation(device.windows(capped, 100ms)), 10.0);
}

INSTANTIATE_TEST_SUITE_P(Table, Caps,
                         ::testing::Values(CapCase{"Ten", 100, 132us, false},
                                           CapCase{"Thirty", 300, 132us, false},
                                           CapCase{"Fifty", 500, 132us, false},
                                           CapCase{"TenOfLong", 100, 1ms, false},
                                           CapCase{"ThirtyOfLong", 300, 1ms, false},
                                           CapCase{"FiftyOfLong", 500, 1ms, false},
                                           CapCase{"ThirtyOfShort", 300, 10us, false},
                                           CapCase{"ThirtyOfGraphs", 300, 7ms, false},
                                           CapCase{"ThirtyBesideAStorm", 300, 132us, true},
                                           CapCase{"FiftyOfLongBesideAStorm", 500, 1ms, true}),
                         [](const auto& test) { return test.param.name; });

struct PairCase {
  std::string name;
  std::uint32_t permille;
  Ns length;
  std::uint32_t other_permille;
  Ns other_length;
};

class CapsTogether : public ::testing::TestWithParam<PairCase> {};

// Both get their parts, even if together they fill the device and one launch takes as long as
// several turns of the other.
TEST_P(CapsTogether, AreBothReached) {
  VirtualDevice device;
  const PairCase& pair = GetParam();
  const TenantId one = device.add({.permille = pair.permille}, storm(pair.length));
  const TenantId other = device.add({.permille = pair.other_permille}, storm(pair.other_length));
  device.run(1s);
  const Ns before_one = device.executed(one);
  const Ns before_other = device.executed(other);
  device.run(10s);
  EXPECT_NEAR(percent(device.executed(one) - before_one, 10s), pair.permille / 10.0, 3.0);
  EXPECT_NEAR(percent(device.executed(other) - before_other, 10s), pair.other_permille / 10.0, 3.0);
}

INSTANTIATE_TEST_SUITE_P(Table, CapsTogether,
                         ::testing::Values(PairCase{"LongAndLong", 500, 1ms, 500, 1ms},
                                           PairCase{"GraphsAndLong", 500, 4ms, 500, 1ms},
                                           PairCase{"GraphsAndShort", 500, 4ms, 500, 50us},
                                           PairCase{"GraphsAndGraphs", 500, 4ms, 500, 4ms},
                                           PairCase{"LongGraphsAndLong", 500, 7ms, 500, 1ms},
                                           PairCase{"LongGraphsAndLongGraphs", 500, 7ms, 500, 7ms},
                                           PairCase{"VeryLongGraphsAndLong", 500, 30ms, 500, 1ms},
                                           PairCase{"ThirtyOfGraphs", 300, 4ms, 500, 1ms},
                                           PairCase{"ThirtyOfLongGraphs", 300, 7ms, 700, 1ms},
                                           PairCase{"NinetyOfLongGraphs", 900, 7ms, 100, 1ms},
                                           PairCase{"TenOfLongGraphs", 100, 7ms, 900, 1ms}),
                         [](const auto& test) { return test.param.name; });

// Unlimited work gets what the capped tenant leaves, even next to long launches.
TEST(Device, TheDeviceDoesNotRunDryNextToLongLaunches) {
  VirtualDevice device;
  const TenantId capped = device.add({.permille = 300}, storm(7ms));
  const TenantId other = device.add({}, storm(300us));
  device.run(10s);
  EXPECT_GE(percent(device.executed(capped) + device.executed(other), 10s), 98.0);
  VirtualDevice unbound;
  const TenantId graphs = unbound.add({}, storm(7ms));
  const TenantId launches = unbound.add({}, storm(200us));
  unbound.run(10s);
  EXPECT_GE(percent(unbound.executed(graphs) + unbound.executed(launches), 10s), 96.0);
}

// What a tenant saves while others hold it back is bounded, and idle time saves nothing.
TEST(Device, IdleTimeIsNotSavedUp) {
  VirtualDevice device;
  bool wants = true;
  const TenantId capped =
      device.add({.permille = 300}, [&](Ns, bool) { return wants ? Ns{200us} : Ns{0}; });
  device.add({}, storm(10ms));
  device.run(1s);
  wants = false;
  device.run(1s);
  wants = true;
  const Ns before = device.executed(capped);
  device.run(100ms);
  EXPECT_LE(device.executed(capped) - before, 30ms + FairQueue::kBurst + 2ms);
}

TEST(Device, WeightsAreKeptWithinFivePercent) {
  for (const Ns length : {20us, 200us, 1000us}) {
    VirtualDevice device;
    const TenantId one = device.add({.weight = 1}, storm(length));
    const TenantId two = device.add({.weight = 2}, storm(200us));
    const TenantId four = device.add({.weight = 4}, storm(length));
    device.run(10s);
    EXPECT_NEAR(percent(device.executed(one), 10s), 100.0 / 7, 5.0 / 7);
    EXPECT_NEAR(percent(device.executed(two), 10s), 200.0 / 7, 10.0 / 7);
    EXPECT_NEAR(percent(device.executed(four), 10s), 400.0 / 7, 20.0 / 7);
  }
}

// A tenant with long launches has less than a slice of work at a time. Its pair begins long before
// its turn, and must still be charged in full.
TEST(Device, WeightsAreKeptBetweenLaunchesOfDifferentLengths) {
  VirtualDevice device;
  const TenantId one = device.add({.weight = 1}, storm(1000us));
  const TenantId two = device.add({.weight = 2}, storm(200us));
  const TenantId four = device.add({.weight = 4}, storm(500us));
  device.run(10s);
  EXPECT_NEAR(percent(device.executed(one), 10s), 100.0 / 7, 5.0 / 7);
  EXPECT_NEAR(percent(device.executed(two), 10s), 200.0 / 7, 10.0 / 7);
  EXPECT_NEAR(percent(device.executed(four), 10s), 400.0 / 7, 20.0 / 7);
}

// Estimates follow the short launches, but the tenant gains little by that.
TEST(Device, VaryingLaunchesOfOneFunctionGainLittle) {
  for (const Ns other : {200us, 3000us}) {
    VirtualDevice device;
    int i = 0;
    const TenantId mixed =
        device.add({}, [&](Ns, bool) { return Ns{i++ % 3 == 0 ? 1000us : 100us}; });
    device.add({}, storm(other));
    device.run(10s);
    EXPECT_NEAR(percent(device.executed(mixed), 10s), 50.0, 10.0) << other.count();
  }
}

TEST(Device, TheDeviceDoesNotRunDry) {
  VirtualDevice device;
  const TenantId a = device.add({}, storm(50us));
  const TenantId b = device.add({}, storm(400us));
  device.run(5s);
  EXPECT_GE(percent(device.executed(a) + device.executed(b), 5s), 98.0);
}

TEST(Device, IdleTimeIsLentAndComesBackWithinTenMilliseconds) {
  VirtualDevice device;
  bool wants = false;
  const TenantId owner = device.add({}, [&](Ns, bool) { return wants ? Ns{200us} : Ns{0}; });
  const TenantId borrower = device.add({}, storm(200us));
  device.run(1s);
  EXPECT_GE(percent(device.executed(borrower), 1s), 98.0);
  wants = true;
  device.run(10ms);
  const Ns before = device.executed(owner);
  device.run(100ms);
  EXPECT_NEAR(percent(device.executed(owner) - before, 100ms), 50.0, 5.0);
}

TEST(Device, AChangedWeightCountsAtOnce) {
  VirtualDevice device;
  const TenantId a = device.add({}, storm(200us));
  device.add({}, storm(200us));
  device.run(1s);
  device.change(a, {.weight = 3});
  device.run(10ms);
  const Ns before = device.executed(a);
  device.run(1s);
  EXPECT_NEAR(percent(device.executed(a) - before, 1s), 75.0, 3.75);
}

TEST(Device, ChargesEqualTheExecutedTime) {
  VirtualDevice device;
  const TenantId a = device.add({.weight = 3}, storm(700us));
  const TenantId b = device.add({}, storm(90us));
  device.run(5s);
  EXPECT_LE(device.charged(a) + device.charged(b), device.now());
  EXPECT_NEAR(percent(device.charged(a), 5s), percent(device.executed(a), 5s), 3.0);
  EXPECT_NEAR(percent(device.charged(b), 5s), percent(device.executed(b), 5s), 3.0);
}

// A tenant whose time is only counted is charged what it used, without a limit.
TEST(Device, AnUnlimitedTenantIsAccounted) {
  Device device{Ns{0}};
  const TenantId counted{1};
  device.put(counted, {.permille = 100});
  device.account(counted);
  device.finished(counted, {{1ms, 3ms}, 1ms});
  const auto permits = device.step(10ms, {{counted, {.asked = 1ms}}});
  EXPECT_FALSE(permits.contains(counted));
  EXPECT_EQ(device.charged(counted), 2ms);
}

TEST(Device, BestEffortDoesNotHarmTheLatencyCritical) {
  const auto run = [](bool limited, int storms) {
    VirtualDevice device(limited);
    Requests requests{.period = 20ms, .launches = 40, .length = 120us};
    device.add({.priority = Priority::kLatencyCritical},
               [&](Ns now, bool idle) { return requests.next(now, idle); });
    Ns rest{0};
    std::vector<TenantId> others;
    for (int i = 0; i < storms; ++i) {
      others.push_back(
          device.add({.priority = Priority::kBestEffort}, storm(i == 0 ? 200us : 50us)));
    }
    device.run(10s);
    for (const TenantId other : others) rest += device.executed(other);
    std::ranges::sort(requests.latencies);
    return std::pair{requests.latencies[requests.latencies.size() * 99 / 100], rest};
  };
  const auto [alone, nothing] = run(false, 0);
  const auto [beside, rest] = run(true, 2);
  const auto [unlimited, all] = run(false, 2);
  EXPECT_GT(unlimited, 2 * alone) << "without the policy this test would show nothing";
  EXPECT_LE(percent(beside, alone), 110.0);
  EXPECT_GE(percent(rest, 10s - 10s * 48 / 200), 70.0);
}

// The tenant is stopped while it waits. Until it continues, it does not use its permission.
TEST(Device, AnUnusedPermissionDelaysNobody) {
  Device device(Ns{0});
  const TenantId stopped{1};
  const TenantId other{2};
  device.put(stopped, {});
  device.put(other, {});
  Ns asked{0};
  const auto step = [&](Ns now, Ns of_stopped) {
    const auto& permits = device.step(now, {{stopped, {.asked = of_stopped, .waiting = true}},
                                            {other, {.asked = asked, .waiting = true}}});
    const Ns before = asked;
    asked = std::max(asked, *permits.at(other).allowed);  // done at once
    device.finished(other, {{now - (asked - before), now}, asked - before});
    return *permits.at(stopped).allowed;
  };
  Ns now{0};
  for (; now < 1s; now += 2ms) step(now, Ns{0});
  const Ns before = asked;
  for (; now < 2s; now += 2ms) step(now, Ns{0});
  EXPECT_GT(asked - before, 900ms);
  // The tenant continues: its permission is still valid, and the others wait for it again.
  const Ns allowed = step(now += 2ms, Ns{0});
  EXPECT_GT(allowed, Ns{0});
  EXPECT_GT(step(now += 2ms, allowed), allowed);
}

// The forger always reports more work than the device can have, and reports ends that did not
// happen.
TEST(Device, ForgedReportsDoNotBlockOthers) {
  Device device(Ns{0});
  const TenantId forger{1};
  const TenantId other{2};
  device.put(forger, {});
  device.put(other, {});
  Ns asked{0};
  const auto run = [&](Ns from, Ns until, Ns told) {
    const Ns before = asked;
    for (Ns now = from; now < until; now += 2ms) {
      device.finished(forger, {{now - told, now}, 10ms});
      const auto& permits = device.step(
          now, {{forger, {.outstanding = 40ms}}, {other, {.asked = asked, .waiting = true}}});
      const Ns allowed = std::max(asked, *permits.at(other).allowed);
      if (allowed > asked) device.finished(other, {{now, now + 1ms}, allowed - asked});
      asked = allowed;
    }
    return asked - before;
  };
  run(Ns{0}, 1s, 1ms);
  EXPECT_GT(run(1s, 2s, 1ms), 300ms);
  run(2s, 3s, Ns{0});  // batches of no length are not charged
  EXPECT_GT(run(3s, 4s, Ns{0}), 300ms);
}

TEST(Device, WorkOfAnEndedProcessDelaysNobody) {
  Device device(Ns{0});
  const TenantId critical{1};
  const TenantId other{2};
  device.put(critical, {.priority = Priority::kLatencyCritical});
  device.put(other, {.priority = Priority::kBestEffort});
  const Standing waits{.waiting = true};
  const auto closed = [&](Ns now, const Standing& standing) {
    return device.step(now, {{critical, standing}, {other, waits}}).at(other).closed;
  };
  EXPECT_TRUE(closed(1ms, {.asked = 2ms, .outstanding = 2ms}));
  EXPECT_TRUE(closed(1s, {.asked = 2ms, .outstanding = 2ms})) << "behind a long launch";
  // One of two processes has ended, and the time that it asked for went with it.
  EXPECT_TRUE(closed(2s, {.asked = 2ms, .outstanding = 1ms}));
  EXPECT_TRUE(closed(2s + 10ms, {.asked = 2ms, .outstanding = 1ms}));
  closed(3s, {.asked = 2ms});
  EXPECT_FALSE(closed(3s + 10ms, {.asked = 2ms}));
  EXPECT_TRUE(closed(3s + 20ms, {.asked = 3ms, .outstanding = 1ms}));
}

// What a step examines if so many tenants report nonsense all the time next to four others.
std::uint64_t most_work_of_a_step(unsigned hostile) {
  constexpr std::size_t kMost = 128;  // as the arbiter joins them
  Device device(0ms);
  const auto tenant = [](unsigned i) { return TenantId{i}; };
  for (unsigned i = 0; i < hostile + 4; ++i) device.put(tenant(i), {});
  std::mt19937_64 random(1);
  std::uint64_t most = 0;
  Ns charged{0};
  for (int step = 1; step <= 300; ++step) {
    const Ns now = step * 2ms;
    ByTenant<Standing> standings;
    for (unsigned i = 0; i < hostile + 4; ++i) {
      std::vector<Batch> batches;
      const unsigned count = i < hostile ? 1024 : 4;
      for (unsigned k = 0; k < count; ++k) {
        const Ns end = now + 5ms - Ns{random() % 10'000'000};
        const Ns length{random() % (i < hostile && random() % 2 == 0 ? 1'000'000'000 : 300'000)};
        batches.push_back({{end - length, end}, Ns{random() % 2'000'000}});
      }
      join(batches, kMost);
      EXPECT_LE(batches.size(), kMost);
      for (const Batch& batch : batches) device.finished(tenant(i), batch);
      standings[tenant(i)] = {.waiting = true, .busy_since = now - Ns{random() % 50'000'000}};
    }
    const std::uint64_t before = device.work();
    device.step(now, standings);
    most = std::max(most, device.work() - before);
  }
  for (unsigned i = 0; i < hostile + 4; ++i) charged += device.charged(tenant(i));
  EXPECT_LE(charged, 600ms) << "no more than the time that passed";
  return most;
}

TEST(Work, OfAStepIsBoundedByTheNumberOfTenants) {
  const std::uint64_t one = most_work_of_a_step(1);
  EXPECT_LE(one, 10'000U);
  EXPECT_LE(most_work_of_a_step(8), 10 * one);
}

TEST(Work, BatchesAreJoinedWithTheirNeighbours) {
  std::vector<Batch> batches{
      {{5ms, 6ms}, 1ms}, {{0ms, 1ms}, 1ms}, {{2ms, 3ms}, 1ms}, {{1ms, 2ms}, 1ms}};
  join(batches, 4);
  EXPECT_EQ(batches.size(), 4U);
  join(batches, 2);
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0].stretch, (Stretch{0ms, 2ms}));
  EXPECT_EQ(batches[0].asked, 2ms);
  EXPECT_EQ(batches[1].stretch, (Stretch{2ms, 6ms}));
}

}  // namespace
}  // namespace tranche::limit::device_test
