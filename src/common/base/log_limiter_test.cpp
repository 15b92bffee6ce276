#include "base/log_limiter.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <vector>

#include "support/fake_clock.h"

namespace tranche::log_limiter_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

class LogLimiterTest : public ::testing::Test {
 protected:
  test::FakeClock clock;
  std::vector<std::string> lines;
  Log log{LogLevel::kInfo, [this](LogLevel, std::string_view line) { lines.emplace_back(line); }};
  LogLimiter limiter{clock, log};
};

TEST_F(LogLimiterTest, TheFirstOfAKindIsSaidAndTheOthersAreCounted) {
  for (int i = 0; i < 1000; ++i) limiter.warn("garbage", fmt::format("garbage {}", i));
  limiter.warn("full", "full");
  EXPECT_THAT(lines, ElementsAre("garbage 0", "full"));
  clock.advance(61s);
  limiter.tell();
  limiter.tell();
  EXPECT_THAT(lines, ElementsAre("garbage 0", "full", "garbage 999 (999 times in 61 s)"));
}

TEST_F(LogLimiterTest, WhatGoesOnIsSaidOnceAMinute) {
  for (int second = 0; second < 600; ++second) {
    limiter.warn("garbage", "garbage");
    clock.advance(1s);
    limiter.tell();
  }
  EXPECT_EQ(lines.size(), 11U);
}

TEST_F(LogLimiterTest, WhatEndedLongAgoIsNewsAgain) {
  limiter.warn("garbage", "before");
  clock.advance(61s);
  limiter.tell();
  limiter.warn("garbage", "after");
  EXPECT_THAT(lines, ElementsAre("before", "after"));
}

}  // namespace
}  // namespace tranche::log_limiter_test
