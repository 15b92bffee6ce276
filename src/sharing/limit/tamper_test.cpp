// Tenants that forge what the arbiter reads, and work that takes much longer than expected, in
// virtual time (testing.h): each still gets its share.

#include <gtest/gtest.h>

#include <optional>

#include "limit/device.h"
#include "limit/testing.h"
#include "limit/under_report.h"
#include "support/sanitized.h"

namespace tranche::limit::tamper_test {
namespace {

using testing::storm;
using testing::VirtualDevice;
using namespace std::chrono_literals;

double percent(Ns part, Ns whole) {
  return 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

// What the tenant executes in `time`, in percent of it.
double part_of(VirtualDevice& device, TenantId tenant, Ns time) {
  const Ns before = device.executed(tenant);
  device.run(time);
  return percent(device.executed(tenant) - before, time);
}

TEST(Tampering, ASumThatIsWrittenBackGainsNothing) {
  for (const Ns length : {50us, 1000us}) {
    VirtualDevice device;
    const TenantId forger = device.add({.permille = 100}, storm(length));
    const TenantId other = device.add({.permille = 500}, storm(1ms));
    device.run(1s);
    device.forgets_what_it_asked(forger);
    device.run(10ms);
    EXPECT_TRUE(device.is_false(forger)) << "within some steps";
    EXPECT_FALSE(device.is_false(other));
    device.run(10s);
    const Ns before = device.executed(other);
    EXPECT_NEAR(part_of(device, forger, 10s), 10.0, 3.0);
    // Running work cannot be preempted: for a while the device is time-sliced.
    EXPECT_GE(percent(device.executed(other) - before, 10s), 45.0);
  }
}

TEST(Tampering, ASumThatIsWrittenBackGainsNothingBesideAnotherOfItsWeight) {
  VirtualDevice device;
  const TenantId forger = device.add({}, storm(1ms));
  device.add({}, storm(1ms));
  device.forgets_what_it_asked(forger);
  device.run(1s);
  EXPECT_NEAR(part_of(device, forger, 10s), 50.0, 5.0);
}

// Like the arbiter each second: NVML's samples arrive when the second is over.
struct Samples {
  VirtualDevice& device;
  TenantId tenant;
  UnderReport report{};
  Ns used{0};
  Ns charged{0};

  void run(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      const Ns executed = device.executed(tenant) - std::exchange(used, device.executed(tenant));
      const Ns told = device.charged(tenant) - std::exchange(charged, device.charged(tenant));
      if (const Ns missing = report.take(1s, executed, told); missing > Ns{0}) {
        device.correct(tenant, missing);
        charged += missing;
      }
      device.run(1s);
    }
  }
};

TEST(Tampering, WhoReportsNothingGetsItsShareOnceItIsFound) {
  for (const std::optional<std::uint32_t> permille :
       {std::optional(100U), std::optional<std::uint32_t>()}) {
    VirtualDevice device;
    const TenantId silent = device.add({.weight = 1, .permille = permille}, storm(1ms));
    device.add({.weight = 9, .permille = permille ? std::optional(500U) : std::nullopt},
               storm(1ms));
    device.run(1s);
    device.falls_silent(silent);
    Samples samples{device, silent};
    samples.run(20);
    EXPECT_TRUE(samples.report.is_found());
    const Ns before = device.executed(silent);
    constexpr int kSeconds = test::kSanitized ? 30 : 100;
    samples.run(kSeconds);
    EXPECT_NEAR(percent(device.executed(silent) - before, std::chrono::seconds(kSeconds)), 10.0,
                3.0)
        << permille.value_or(0);
  }
}

// The launches were expected to take 10 us each. They take 40 ms, and all are in flight.
TEST(Tampering, UnderestimatedWorkIsPaidBeforeMoreMayGo) {
  VirtualDevice device;
  int launches = 0;
  const TenantId late = device.add(
      {.permille = 100}, [&](Ns, bool) { return ++launches <= 20'000 ? 10us : 40'000us; });
  const TenantId other = device.add({.permille = 500}, storm(1ms));
  while (launches <= 20'000) device.run(10ms);
  const Ns begin = device.now();
  const Ns had = device.executed(late);
  Ns before = device.executed(other);
  device.run(3s);
  EXPECT_NEAR(percent(device.executed(other) - before, 3s), 50.0, 3.0) << "while it lasts";
  device.run(60s);
  EXPECT_NEAR(percent(device.executed(late) - had, device.now() - begin), 10.0, 3.0);
}

// While nothing runs the arbiter sleeps. By then earlier use is paid off.
TEST(Tampering, IdleTimePaysForWhatWasUsed) {
  VirtualDevice device;
  bool wants = true;
  const TenantId late = device.add({.permille = 100}, [&](Ns, bool) { return wants ? 1ms : 0ms; });
  device.run(1s);
  device.correct(late, 5s);
  device.run(100ms);
  EXPECT_NEAR(part_of(device, late, 10s), 0.0, 0.1);
  wants = false;
  device.run(1s);
  device.rest(60s);
  wants = true;
  device.run(100ms);
  EXPECT_NEAR(part_of(device, late, 10s), 10.0, 3.0);
}

}  // namespace
}  // namespace tranche::limit::tamper_test
