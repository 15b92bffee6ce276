#include "limit/silence.h"

#include <gtest/gtest.h>

namespace tranche::limit {
namespace {

using namespace std::chrono_literals;

TEST(Silence, WhoSpeaksIsBelievedHoweverLongItWorks) {
  Silence silence;
  for (Ns now = 0s; now < 20s; now += 50ms) {
    silence.hear(now, 4ms, true);
    EXPECT_TRUE(silence.is_believed());
    EXPECT_TRUE(silence.is_charged());
  }
}

TEST(Silence, WhoFallsSilentIsBelievedAsLongAsItsWorkMayTake) {
  Silence silence;
  silence.hear(0s, 40ms, true);
  silence.hear(180ms, 40ms, false);
  EXPECT_TRUE(silence.is_believed());
  silence.hear(181ms, 40ms, false);
  EXPECT_FALSE(silence.is_believed());
  EXPECT_TRUE(silence.is_charged());
  silence.hear(3s, 40ms, false);
  EXPECT_TRUE(silence.is_charged());
  silence.hear(3001ms, 40ms, false);
  EXPECT_FALSE(silence.is_charged());
}

TEST(Silence, MoreWorkIsNoWord) {
  Silence silence;
  for (Ns now = 0s; now <= 3s; now += 1ms) silence.hear(now, 1ms + now, false);
  EXPECT_FALSE(silence.is_believed());
}

TEST(Silence, WhoSpeaksAgainIsBelievedAgain) {
  Silence silence;
  silence.hear(0s, 4ms, true);
  silence.hear(10s, 4ms, false);
  EXPECT_FALSE(silence.is_believed());
  silence.hear(11s, 3ms, true);
  EXPECT_TRUE(silence.is_believed());
  EXPECT_TRUE(silence.is_charged());
}

// Nobody steps while nothing is to be done: idle time is no silence.
TEST(Silence, WorkThatBeginsAfterARestIsBelieved) {
  Silence silence;
  silence.hear(0s, 4ms, true);
  silence.hear(1s, 0ms, true);
  silence.hear(60s, 4ms, false);
  EXPECT_TRUE(silence.is_believed());
  silence.hear(61s, 4ms, false);
  EXPECT_FALSE(silence.is_believed());
}

}  // namespace
}  // namespace tranche::limit
