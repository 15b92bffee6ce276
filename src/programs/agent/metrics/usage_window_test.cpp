#include "agent/metrics/usage_window.h"

#include <gtest/gtest.h>

namespace tranche::agent::usage_window_test {
namespace {

using namespace std::chrono_literals;

class UsageWindowTest : public testing::Test {
 protected:
  // Each second for so long, with so much of it used.
  void pass(std::chrono::seconds time, std::chrono::milliseconds used) {
    for (auto i = 0s; i < time; ++i) {
      now_ += 1s;
      counter_ += used;
      window_.add(now_, counter_);
    }
  }
  double share() const { return window_.share().value_or(-1); }

  UsageWindow::TimePoint now_{};
  std::chrono::nanoseconds counter_ = 500s;  // it was there before
  UsageWindow window_;
};

TEST_F(UsageWindowTest, OfLessThanASecondNothingIsKnown) {
  EXPECT_FALSE(window_.share());
  window_.add(now_, counter_);
  EXPECT_FALSE(window_.share());
  window_.add(now_ + 900ms, counter_);
  EXPECT_FALSE(window_.share());
}

TEST_F(UsageWindowTest, AYoungContainersIsSinceItWasSeen) {
  pass(2s, 500ms);
  EXPECT_DOUBLE_EQ(share(), 0.5);
  pass(3s, 0ms);
  EXPECT_DOUBLE_EQ(share(), 0.125);
}

TEST_F(UsageWindowTest, WhatIsLongerAgoDoesNotCount) {
  pass(200s, 800ms);
  EXPECT_NEAR(share(), 0.8, 1e-9);
  pass(30s, 0ms);
  EXPECT_NEAR(share(), 0.4, 0.03);
  pass(33s, 0ms);
  EXPECT_DOUBLE_EQ(share(), 0);
  pass(1s, 1000ms);
  EXPECT_NEAR(share(), 1.0 / 60, 1e-3) << "the last second is in it";
}

TEST_F(UsageWindowTest, ACounterThatBeganAgainIsNoFall) {
  pass(10s, 300ms);
  counter_ = 0s;  // the arbiter was restarted
  pass(10s, 300ms);
  EXPECT_NEAR(share(), 0.3, 1e-9);
}

TEST_F(UsageWindowTest, AJumpIsAtMostAll) {
  pass(10s, 300ms);
  counter_ += 1h;
  pass(1s, 0ms);
  EXPECT_DOUBLE_EQ(share(), 1);
}

TEST_F(UsageWindowTest, AfterAPauseItIsTheTimeOfThePause) {
  pass(100s, 900ms);
  now_ += 600s;
  counter_ += 60s;
  window_.add(now_, counter_);
  EXPECT_NEAR(share(), 0.1, 0.01);
}

}  // namespace
}  // namespace tranche::agent::usage_window_test
