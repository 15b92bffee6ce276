#include "load/samples.h"

#include <gtest/gtest.h>

namespace tranche::load::samples_test {
namespace {

nanoseconds ms(std::int64_t value) { return std::chrono::milliseconds(value); }

TEST(Samples, PercentilesAreSamplesByNearestRank) {
  Samples samples;
  for (int i = 200; i >= 1; --i) samples.add(ms(i));
  const Percentiles out = samples.percentiles();
  EXPECT_EQ(out.count, 200U);
  EXPECT_EQ(out.p50, ms(100));
  EXPECT_EQ(out.p90, ms(180));
  EXPECT_EQ(out.p99, ms(198));
  EXPECT_EQ(out.max, ms(200));
  EXPECT_EQ(out.mean, std::chrono::microseconds(100'500));
}

TEST(Samples, OneSampleIsEveryPercentile) {
  Samples samples;
  samples.add(ms(7));
  const Percentiles out = samples.percentiles();
  EXPECT_EQ(out.p50, ms(7));
  EXPECT_EQ(out.p99, ms(7));
  EXPECT_EQ(out.mean, ms(7));
}

TEST(Samples, NoneIsSaidAsNone) {
  const Percentiles out = Samples().percentiles();
  EXPECT_EQ(out.count, 0U);
  EXPECT_EQ(out.max, ms(0));
}

TEST(Samples, OfVeryManyAnEvenPartIsKeptAndTheMaximumNeverLost) {
  Samples samples;
  samples.add(ms(5000));
  const auto total = static_cast<std::int64_t>(3 * Samples::kKept);
  for (std::int64_t i = 0; i < total; ++i) samples.add(nanoseconds(i));
  const Percentiles out = samples.percentiles();
  EXPECT_EQ(out.count, static_cast<std::uint64_t>(total) + 1);
  EXPECT_EQ(out.max, ms(5000));
  // One million of three million times are kept: the median is off by some thousandths at most.
  EXPECT_NEAR(static_cast<double>(out.p50.count()), static_cast<double>(total) * 0.5, total * 0.01);
  EXPECT_NEAR(static_cast<double>(out.p99.count()), static_cast<double>(total) * 0.99,
              total * 0.01);
}

}  // namespace
}  // namespace tranche::load::samples_test
