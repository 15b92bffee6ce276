#include "metrics/dcgm_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "support/node_figures.h"

namespace tranche::metrics::dcgm_table_test {
namespace {

const DcgmFigure& figure(std::string_view name48) {
  const auto found =
      std::ranges::find(dcgm_table(), name48, [](const DcgmFigure& one) { return one.v48.name; });
  return *found;
}

TEST(DcgmTable, EveryNameStandsOnce) {
  std::set<std::string_view> names;
  for (const auto& one : dcgm_table()) {
    EXPECT_TRUE(names.insert(one.v48.name).second) << one.v48.name;
    if (one.v48.name == one.v49.name) continue;
    EXPECT_TRUE(names.insert(one.v49.name).second) << one.v49.name;
  }
}

TEST(DcgmTable, ASharedNameHasOneMeaning) {
  int shared = 0;
  for (const auto& one : dcgm_table()) {
    if (one.v48.name != one.v49.name) continue;
    ++shared;
    EXPECT_EQ(one.v48.scale, one.v49.scale) << one.v48.name;
    EXPECT_EQ(one.v48.help, one.v49.help) << one.v48.name;
  }
  EXPECT_EQ(shared, 4);
}

// Field 203 and field 1613: a name of the older generation is never a ratio of percent.
TEST(DcgmTable, AnOlderNameIsNeverAUtilRatio) {
  for (const auto& one : dcgm_table()) {
    EXPECT_EQ(one.v48.name.find("UTIL_RATIO"), std::string_view::npos) << one.v48.name;
    if (one.v48.scale == Scale::kSame && one.v48.help.ends_with("(%).")) {
      EXPECT_EQ(one.v49.scale, Scale::kPercent) << one.v49.name;
    }
  }
}

TEST(DcgmTable, EveryFigureIsRead) {
  const gpu::FastFigures fast = test::busy_fast();
  const gpu::SlowFigures slow = test::busy_slow();
  const DeviceSources all{.fast = &fast,
                          .slow = &slow,
                          .memory = &*fast.memory,
                          .engines = &slow.activity,
                          .links = &slow.activity,
                          .xid = 79};
  for (const auto& one : dcgm_table()) {
    EXPECT_TRUE(one.read(all)) << one.v48.name;
    EXPECT_FALSE(one.read({})) << one.v48.name;
  }
}

TEST(DcgmTable, AFigureThatIsUnknownIsNone) {
  const gpu::FastFigures fast;
  const gpu::SlowFigures slow;
  const gpu::MemoryFigures memory;
  const DeviceSources nothing{.fast = &fast,
                              .slow = &slow,
                              .memory = &memory,
                              .engines = &slow.activity,
                              .links = &slow.activity};
  for (const auto& one : dcgm_table()) {
    const bool always = one.v49.name == "DCGM_FI_DEV_FB_CAPACITY_BYTES" ||
                        one.v49.name == "DCGM_FI_DEV_FB_FREE_BYTES" ||
                        one.v49.name == "DCGM_FI_DEV_FB_USED_BYTES";
    EXPECT_EQ(one.read(nothing).has_value(), always) << one.v48.name;
  }
}

TEST(DcgmTable, ANegativeTimeIsNone) {
  const gpu::SlowFigures slow{.throttled_by_power = std::chrono::nanoseconds(-1)};
  EXPECT_FALSE(figure("DCGM_FI_DEV_POWER_VIOLATION").read({.slow = &slow}));
}

TEST(Scales, Whole) {
  EXPECT_EQ(scaled(std::uint64_t{97}, Scale::kSame), Value(Decimal{97, 0}));
  EXPECT_EQ(scaled(std::uint64_t{1410}, Scale::kMega), Value(Decimal{1'410'000'000, 0}));
  EXPECT_EQ(scaled((std::uint64_t{3} << 20U) - 1, Scale::kMebi), Value(Decimal{2, 0}));
  EXPECT_EQ(scaled(std::uint64_t{97}, Scale::kPercent), Value(Decimal{97, 2}));
  EXPECT_EQ(scaled(std::uint64_t{287'412}, Scale::kMilli), Value(Decimal{287'412, 3}));
  EXPECT_EQ(scaled(std::uint64_t{5}, Scale::kNano), Value(Decimal{5, 9}));
}

TEST(Scales, BeyondWhatCanBeWritten) {
  EXPECT_FALSE(scaled(std::numeric_limits<std::uint64_t>::max(), Scale::kMega));
  EXPECT_TRUE(scaled(std::numeric_limits<std::uint64_t>::max(), Scale::kNano));
}

TEST(Scales, ADoubleStays) { EXPECT_EQ(scaled(0.96, Scale::kSame), Value(0.96)); }

}  // namespace
}  // namespace tranche::metrics::dcgm_table_test
