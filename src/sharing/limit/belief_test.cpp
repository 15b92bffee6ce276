// Tenants that report waiting or work without doing anything, in virtual time (testing.h): they do
// not delay others for long, and an honest tenant that was not believed is believed again.

#include "limit/belief.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "limit/device.h"
#include "limit/testing.h"

namespace tranche::limit::belief_test {
namespace {

using testing::Program;
using testing::Requests;
using testing::storm;
using testing::VirtualDevice;
using namespace std::chrono_literals;

Ns nothing(Ns /*now*/, bool /*idle*/) { return Ns{0}; }

// A kernel of `length` each `period`.
Program each(Ns period, Ns length) {
  return [=, due = Ns{0}](Ns now, bool) mutable {
    if (now < due) return Ns{0};
    due = now + period;
    return length;
  };
}

std::function<bool(Ns)> always() {
  return [](Ns) { return true; };
}
// On for `on`, then off for `off`.
std::function<bool(Ns)> toggling(Ns on, Ns off) {
  return [=](Ns now) { return now % (on + off) < on; };
}

double percent(Ns part, Ns whole) {
  return 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

struct IdleWord {
  std::string name;
  TimePolicy hostile;
  std::function<bool(Ns)> says_it_waits;
  Program does = nothing;
  Ns under_way{0};  // reported, but not real
  int tenants = 1;  // that do the same
  TimePolicy neighbour{.priority = Priority::kBestEffort};
  double least = 90.0;  // percent of the device that the neighbour has
};

void PrintTo(const IdleWord& word, std::ostream* out) { *out << word.name; }

class IdleWords : public ::testing::TestWithParam<IdleWord> {};

TEST_P(IdleWords, HoldNobodyOff) {
  const IdleWord& word = GetParam();
  VirtualDevice device;
  for (int i = 0; i < word.tenants; ++i) {
    const TenantId hostile = device.add(word.hostile, word.does);
    device.says_it_waits(hostile, word.says_it_waits);
    device.reports_work_under_way(hostile, word.under_way);
  }
  const TenantId neighbour = device.add(word.neighbour, storm(200us));
  device.run(1s);
  const Ns before = device.executed(neighbour);
  device.run(4s);
  EXPECT_GE(percent(device.executed(neighbour) - before, 4s), word.least);
}

constexpr TimePolicy kCritical{.priority = Priority::kLatencyCritical};
constexpr TimePolicy kCappedCritical{.permille = 100, .priority = Priority::kLatencyCritical};
constexpr TimePolicy kCappedMore{.permille = 300, .priority = Priority::kLatencyCritical};
constexpr TimePolicy kNormal{};
constexpr TimePolicy kBestEffort{.priority = Priority::kBestEffort};

INSTANTIATE_TEST_SUITE_P(
    Policy, IdleWords,
    ::testing::Values(
        IdleWord{"CriticalForEver", kCritical, always()},
        IdleWord{"CriticalToggles", kCritical, toggling(5ms, 5ms)},
        IdleWord{"CriticalTogglesFast", kCritical, toggling(1ms, 1ms)},
        IdleWord{"CriticalTogglesSlowly", kCritical, toggling(200ms, 100ms)},
        IdleWord{"CriticalLaunchesNextToNothing", kCritical, always(), each(50ms, 10us)},
        IdleWord{"CriticalLaunchesLittle", kCritical, always(), each(50ms, 1ms), Ns{0}, 1,
                 kBestEffort, 75.0},
        IdleWord{"CriticalReportsWork", kCritical, nullptr, nothing, 40ms},
        IdleWord{"CriticalReportsWorkAndWaits", kCritical, always(), nothing, 40ms},
        IdleWord{"ManyCritical", kCritical, always(), nothing, Ns{0}, 15},
        IdleWord{"ManyCriticalToggle", kCritical, toggling(10ms, 50ms), nothing, Ns{0}, 15},
        IdleWord{"CappedCriticalForEver", kCappedCritical, always()},
        IdleWord{"CappedCriticalToggles", kCappedCritical, toggling(200ms, 10ms)},
        IdleWord{"CappedCriticalLaunchesNextToNothing", kCappedCritical, always(),
                 each(50ms, 10us)},
        IdleWord{"NormalForEver", kNormal, always()},
        IdleWord{"NormalToggles", kNormal, toggling(200ms, 10ms)},
        IdleWord{"NormalLaunchesNextToNothing", kNormal, always(), each(50ms, 10us)},
        IdleWord{"NormalTogglesBesideItsLike", kNormal, toggling(200ms, 10ms), nothing, Ns{0}, 1,
                 kNormal},
        IdleWord{"NormalLaunchesNextToNothingBesideItsLike", kNormal, always(), each(50ms, 10us),
                 Ns{0}, 1, kNormal},
        IdleWord{"ManyNormalBesideTheirLike", kNormal, toggling(200ms, 10ms), nothing, Ns{0}, 15,
                 kNormal},
        IdleWord{"AWeightNextToASmallerOne", TimePolicy{.weight = 9}, toggling(200ms, 10ms),
                 nothing, Ns{0}, 1, kNormal},
        IdleWord{"ManyBestEffortBesideTheirLike", kBestEffort, toggling(200ms, 10ms), nothing,
                 Ns{0}, 15, kBestEffort}),
    [](const auto& test) { return test.param.name; });

// On a device with a latency-critical tenant, best-effort ones take turns of a few milliseconds. A
// tenant that has the turn and does nothing loses it.
TEST(Turns, PassToTenantsThatUseThem) {
  VirtualDevice device;
  device.add(kCritical, nothing);
  const TenantId hostile = device.add(kBestEffort, nothing);
  device.says_it_waits(hostile, toggling(200ms, 10ms));
  const TenantId honest = device.add(kBestEffort, storm(200us));
  device.run(10s);
  EXPECT_GE(percent(device.executed(honest), 10s), 85.0);
}

// A latency-critical tenant that has used up its cap waits for the cap only, and does not delay
// others.
TEST(Urgency, OfATenantAtItsCapDelaysNobody) {
  VirtualDevice device;
  const TenantId capped = device.add(kCappedCritical, storm(1ms));
  const TenantId other = device.add(kBestEffort, storm(200us));
  device.run(10s);
  EXPECT_NEAR(percent(device.executed(capped), 10s), 10.0, 3.0);
  EXPECT_GE(percent(device.executed(other), 10s), 60.0);
}

// The p99 of requests next to two best-effort storms, in percent of the value alone. `pause`: after
// the end of each launch.
double slower_than_alone(const TimePolicy& policy, int launches, Ns length, Ns pause) {
  const auto run = [&](bool storms) {
    VirtualDevice device(storms || policy.permille);
    Requests requests{.period = 20ms, .launches = launches, .length = length};
    Ns next{0};
    device.add(policy, [&](Ns now, bool idle) {
      if (pause > Ns{0} && (!idle || now < next)) return Ns{0};
      next = now + length + pause;
      return requests.next(now, idle);
    });
    for (const Ns of : {200us, 50us}) {
      if (storms) device.add(kBestEffort, storm(of));
    }
    device.run(6s);
    std::ranges::sort(requests.latencies);
    return requests.latencies[requests.latencies.size() * 99 / 100];
  };
  return percent(run(true), run(false));
}

struct Honest {
  std::string name;
  TimePolicy policy;
  int launches;
  Ns length;
  Ns pause{0};  // between two launches
};

void PrintTo(const Honest& honest, std::ostream* out) { *out << honest.name; }

class HonestCritical : public ::testing::TestWithParam<Honest> {};

TEST_P(HonestCritical, IsAsFastAsAlone) {
  const Honest& honest = GetParam();
  EXPECT_LE(slower_than_alone(honest.policy, honest.launches, honest.length, honest.pause), 110.0);
}

INSTANTIATE_TEST_SUITE_P(Policy, HonestCritical,
                         ::testing::Values(Honest{"Requests", kCritical, 40, 120us},
                                           Honest{"LongLaunches", kCritical, 2, 4ms},
                                           Honest{"ShortLaunches", kCritical, 200, 10us},
                                           Honest{"Pauses", kCritical, 10, 50us, 500us},
                                           Honest{"Capped", kCappedMore, 40, 120us}),
                         [](const auto& test) { return test.param.name; });

// It reports waiting for a long time (stopped at the gate), and then works as before.
TEST(Belief, ComesBackWithWork) {
  VirtualDevice device;
  bool works = false;
  Requests requests{.period = 20ms, .launches = 40, .length = 120us};
  const TenantId critical = device.add(
      kCritical, [&](Ns now, bool idle) { return works ? requests.next(now, idle) : Ns{0}; });
  device.says_it_waits(critical, [&](Ns) { return !works; });
  device.add(kBestEffort, storm(200us));
  device.run(5s);
  works = true;
  requests.due = device.now();
  device.run(2s);
  ASSERT_GT(requests.latencies.size(), 50U);
  EXPECT_LE(requests.latencies[1], 5300us) << "from its second request on";
  EXPECT_LE(*std::max_element(requests.latencies.begin() + 1, requests.latencies.end()), 5300us);
}

struct CreditCase {
  std::string name;
  std::vector<std::tuple<Ns, bool, Ns>> steps;  // duration, asserts, time used
  bool is_believed;
};

void PrintTo(const CreditCase& one, std::ostream* out) { *out << one.name; }

class Credit : public ::testing::TestWithParam<CreditCase> {};

TEST_P(Credit, IsBelievedOrNot) {
  Belief belief;
  Ns now{1h};
  belief.observe(now, false, Ns{0}, 2);
  for (const auto& [time, claims, used] : GetParam().steps) {
    const auto steps = time / 1ms;
    for (Ns::rep i = 0; i < steps; ++i) belief.observe(now += 1ms, claims, used / steps, 2);
  }
  EXPECT_EQ(belief.is_believed(), GetParam().is_believed);
}

INSTANTIATE_TEST_SUITE_P(
    Policy, Credit,
    ::testing::Values(CreditCase{"AShortWait", {{40ms, true, 0ms}}, true},
                      CreditCase{"ALongOne", {{60ms, true, 0ms}}, false},
                      CreditCase{"ALongOneAndRest", {{60ms, true, 0ms}, {50ms, false, 0ms}}, false},
                      CreditCase{
                          "ALongOneAndMuchRest", {{60ms, true, 0ms}, {5s, false, 0ms}}, true},
                      CreditCase{"WorkUnderWay", {{60s, true, 60s}}, true},
                      CreditCase{"ATenthOfTheDevice", {{60s, true, 6s}}, true},
                      CreditCase{"ALongOneAndWork", {{1h, true, 0ms}, {20ms, true, 20ms}}, true}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tranche::limit::belief_test
