#include "controller/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::controller::rounds_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr Backoff kShort{.first = milliseconds(1), .longest = milliseconds(4)};

class RoundsTest : public testing::Test {
 protected:
  std::vector<std::string> visited() {
    const std::scoped_lock lock(mutex_);
    return visited_;
  }
  void note(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    visited_.push_back(name);
  }

  test::LogRecorder log_;
  std::mutex mutex_;
  std::vector<std::string> visited_;
};

TEST_F(RoundsTest, VisitsWhoAsksAndThenNobody) {
  Rounds rounds(log_.log(), kShort, [&](const std::string& name, const std::stop_token&) {
    note(name);
    return Result<Rounds::Next>(std::nullopt);
  });
  rounds.ask("a");
  ASSERT_TRUE(test::eventually([&] { return visited().size() == 1; }));
  rounds.ask("b");
  ASSERT_TRUE(test::eventually([&] { return visited().size() == 2; }));
  EXPECT_THAT(visited(), testing::ElementsAre("a", "b"));
}

TEST_F(RoundsTest, ComesAgainAfterTheTimeThatAVisitGives) {
  Rounds rounds(log_.log(), kShort, [&](const std::string& name, const std::stop_token&) {
    note(name);
    return Result<Rounds::Next>(milliseconds(1));
  });
  rounds.ask("a");
  EXPECT_TRUE(test::eventually([&] { return visited().size() >= 3; }));
}

TEST_F(RoundsTest, WhoAsksIsVisitedBeforeThatTime) {
  Rounds rounds(log_.log(), kShort, [&](const std::string& name, const std::stop_token&) {
    note(name);
    return Result<Rounds::Next>(hours(1));
  });
  rounds.ask("a");
  ASSERT_TRUE(test::eventually([&] { return visited().size() == 1; }));
  rounds.ask("a");
  EXPECT_TRUE(test::eventually([&] { return visited().size() == 2; }));
}

TEST_F(RoundsTest, AFailureIsSaidOnceAndTriedAgain) {
  std::atomic<int> attempts = 0;
  Rounds rounds(log_.log(), kShort,
                [&](const std::string&, const std::stop_token&) -> Result<Rounds::Next> {
                  if (++attempts < 4) return fail(Code::kUnavailable, "away");
                  return std::nullopt;
                });
  rounds.ask("a");
  ASSERT_TRUE(test::eventually([&] { return attempts == 4; }));
  EXPECT_EQ(log_.count("a: away"), 1);
}

TEST_F(RoundsTest, WhoAsksAfterAFailureWaitsToo) {
  std::atomic<int> attempts = 0;
  Rounds rounds(log_.log(), {.first = hours(1), .longest = hours(2)},
                [&](const std::string& name, const std::stop_token&) -> Result<Rounds::Next> {
                  if (name == "b") note(name);
                  ++attempts;
                  return fail(Code::kUnavailable, "away");
                });
  rounds.ask("a");
  ASSERT_TRUE(test::eventually([&] { return log_.count("a: away") == 1; }));
  rounds.ask("a");
  rounds.ask("b");
  ASSERT_TRUE(test::eventually([&] { return visited().size() == 1; }));
  EXPECT_EQ(attempts, 2);
}

}  // namespace
}  // namespace tranche::controller::rounds_test
