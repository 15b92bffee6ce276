#include "agent/metrics/source_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::agent::source_watch_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class SourceWatchTest : public testing::Test {
 protected:
  // The note of what is told in this time, each second; "" if nothing is.
  std::string pass(std::chrono::seconds time, bool pods, bool host = true) {
    const std::vector<usage::Check> checks = {{"pods", pods}, {"host-processes", host}};
    std::string told;
    for (auto i = 0s; i < time; ++i) {
      now_ += 1s;
      const auto notice = watch_.look(checks, now_);
      if (!notice) continue;
      EXPECT_EQ(told, "") << "twice";
      EXPECT_EQ(notice->warning, !pods || !host);
      told = notice->note;
    }
    return told;
  }

  std::chrono::steady_clock::time_point now_{};
  SourceWatch watch_;
};

TEST_F(SourceWatchTest, WhatWorksIsNotTold) { EXPECT_EQ(pass(100s, true), ""); }

TEST_F(SourceWatchTest, AMomentIsNotTold) {
  EXPECT_EQ(pass(20s, false), "");
  EXPECT_EQ(pass(5s, true), "");
  EXPECT_EQ(pass(20s, false), "");
}

TEST_F(SourceWatchTest, ToldOnceWhenItBeginsAndOnceWhenItEnds) {
  const auto begun = pass(100s, false);
  EXPECT_THAT(begun, HasSubstr("TRN-N043: the Pods of the node cannot be read"));
  EXPECT_THAT(begun, Not(HasSubstr("TRN-N041")));
  const auto more = pass(100s, false, false);
  EXPECT_THAT(more, HasSubstr("TRN-N043"));
  EXPECT_THAT(more, HasSubstr("TRN-N041"));
  EXPECT_EQ(pass(10s, true), "");
  EXPECT_EQ(pass(10s, false, false), "");
  EXPECT_THAT(pass(100s, true), HasSubstr("known again"));
  EXPECT_EQ(pass(100s, true), "");
}

}  // namespace
}  // namespace tranche::agent::source_watch_test
