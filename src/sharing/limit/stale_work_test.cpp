#include "limit/stale_work.h"

#include <gtest/gtest.h>

namespace tranche::limit::stale_work_test {
namespace {

using namespace std::chrono_literals;

TEST(StaleWork, WhoSpeaksIsBelievedHoweverLongItWorks) {
  StaleWork stale;
  for (Ns now = 0s; now < 20s; now += 50ms) {
    stale.observe(now, 4ms, true);
    EXPECT_TRUE(stale.is_believed());
    EXPECT_TRUE(stale.is_charged());
  }
}

TEST(StaleWork, WhoFallsSilentIsBelievedAsLongAsItsWorkMayTake) {
  StaleWork stale;
  stale.observe(0s, 40ms, true);
  stale.observe(180ms, 40ms, false);
  EXPECT_TRUE(stale.is_believed());
  stale.observe(181ms, 40ms, false);
  EXPECT_FALSE(stale.is_believed());
  EXPECT_TRUE(stale.is_charged());
  stale.observe(3s, 40ms, false);
  EXPECT_TRUE(stale.is_charged());
  stale.observe(3001ms, 40ms, false);
  EXPECT_FALSE(stale.is_charged());
}

TEST(StaleWork, MoreWorkIsNoWord) {
  StaleWork stale;
  for (Ns now = 0s; now <= 3s; now += 1ms) stale.observe(now, 1ms + now, false);
  EXPECT_FALSE(stale.is_believed());
}

TEST(StaleWork, WhoSpeaksAgainIsBelievedAgain) {
  StaleWork stale;
  stale.observe(0s, 4ms, true);
  stale.observe(10s, 4ms, false);
  EXPECT_FALSE(stale.is_believed());
  stale.observe(11s, 3ms, true);
  EXPECT_TRUE(stale.is_believed());
  EXPECT_TRUE(stale.is_charged());
}

// The arbiter does not step while there is no work, so idle time does not count as silence.
TEST(StaleWork, WorkThatBeginsAfterARestIsBelieved) {
  StaleWork stale;
  stale.observe(0s, 4ms, true);
  stale.observe(1s, 0ms, true);
  stale.observe(60s, 4ms, false);
  EXPECT_TRUE(stale.is_believed());
  stale.observe(61s, 4ms, false);
  EXPECT_FALSE(stale.is_believed());
}

}  // namespace
}  // namespace tranche::limit::stale_work_test
