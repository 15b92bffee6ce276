#include "limit/under_report.h"

#include <gtest/gtest.h>

#include <utility>

#include "limit/testing.h"
#include "support/sanitized.h"

namespace tranche::limit::under_report_test {
namespace {

using namespace std::chrono_literals;

// Runs `seconds` with `sampled` and `charged` in each. Returns the additional charge.
Ns run(UnderReport& report, int seconds, Ns sampled, Ns charged) {
  Ns sum{0};
  for (int i = 0; i < seconds; ++i) sum += report.take(1s, sampled, charged);
  return sum;
}

TEST(UnderReport, WhoTellsWhatItUsesIsLeftAlone) {
  UnderReport report;
  EXPECT_EQ(run(report, 1000, 1000ms, 1000ms), Ns{0});
  EXPECT_EQ(run(report, 1000, 300ms, 260ms), Ns{0}) << "samples are rounded, charges apportioned";
  EXPECT_EQ(run(report, 1000, 10ms, 0ms), Ns{0}) << "one percent is the least a sample says";
  EXPECT_FALSE(report.is_found());
}

// The samples of a second of work arrive when it is over.
TEST(UnderReport, SamplesThatComeLateAreNoSecondUse) {
  UnderReport report;
  Ns sum{0};
  for (int i = 0; i < 500; ++i) {
    sum += report.take(1s, 0ms, 1000ms);
    sum += report.take(1s, 1000ms, 0ms);
  }
  EXPECT_EQ(sum, Ns{0});
}

TEST(UnderReport, WhoTellsLittleIsChargedTheRest) {
  UnderReport report;
  EXPECT_EQ(run(report, 2, 800ms, 100ms), Ns{0}) << "two seconds are too few";
  const Ns charged = run(report, 100, 800ms, 100ms);
  EXPECT_TRUE(report.is_found());
  // 700 ms a second less a slack of 50 and 80 ms.
  EXPECT_GE(charged, 100 * 570ms - UnderReport::kTolerance);
  EXPECT_LE(charged, 102 * 700ms);
}

TEST(UnderReport, WhoTellsAgainIsNotFoundAfterAWhile) {
  UnderReport report;
  run(report, 10, 800ms, 0ms);
  ASSERT_TRUE(report.is_found());
  EXPECT_EQ(run(report, 29, 500ms, 500ms), Ns{0});
  EXPECT_TRUE(report.is_found());
  run(report, 2, 500ms, 500ms);
  EXPECT_FALSE(report.is_found());
}

// Two tenants of equal weight always want more; one reports a tenth of what it uses.
TEST(UnderReport, AnUnderReportingTenantGainsAtMostTheTolerance) {
  constexpr int kSeconds = test::kSanitized ? 20 : 60;
  const auto part_of_liar = [](bool compared) {
    testing::VirtualDevice device;
    device.add({}, testing::storm(300us));
    const TenantId liar = device.add({}, testing::storm(300us));
    device.tells(liar, 0.1);
    UnderReport report;
    Ns used{0};
    Ns charged{0};
    for (int second = 0; second < kSeconds; ++second) {
      if (compared) {
        device.correct(
            liar, report.take(1s, device.executed(liar) - used, device.charged(liar) - charged));
      }
      used = device.executed(liar);
      charged = device.charged(liar);
      device.run(1s);
    }
    EXPECT_EQ(report.is_found(), compared);
    return static_cast<double>(device.executed(liar).count()) /
           static_cast<double>(device.now().count());
  };
  EXPECT_GT(part_of_liar(false), 0.80);
  // Its half, 5 % of the device, a tenth of its use, and 1.5 s once.
  EXPECT_LT(part_of_liar(true), 0.50 + 0.05 + 0.05 + 1.5 / kSeconds);
}

}  // namespace
}  // namespace tranche::limit::under_report_test
