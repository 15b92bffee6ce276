#include "controller/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::controller::work_queue_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr Backoff kShort{.first = milliseconds(1), .longest = milliseconds(4)};

class WorkQueueTest : public testing::Test {
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

TEST_F(WorkQueueTest, VisitsOncePerAsk) {
  WorkQueue queue(log_.log(), kShort, [&](const std::string& name, const std::stop_token&) {
    note(name);
    return Result<WorkQueue::Next>(std::nullopt);
  });
  queue.begin();
  queue.ask("a");
  ASSERT_TRUE(test::eventually([&] { return visited().size() == 1; }));
  queue.ask("b");
  ASSERT_TRUE(test::eventually([&] { return visited().size() == 2; }));
  EXPECT_THAT(visited(), testing::ElementsAre("a", "b"));
}

TEST_F(WorkQueueTest, VisitsAgainAfterTheReturnedTime) {
  WorkQueue queue(log_.log(), kShort, [&](const std::string& name, const std::stop_token&) {
    note(name);
    return Result<WorkQueue::Next>(milliseconds(1));
  });
  queue.begin();
  queue.ask("a");
  EXPECT_TRUE(test::eventually([&] { return visited().size() >= 3; }));
}

TEST_F(WorkQueueTest, AskShortensTheReturnedTime) {
  WorkQueue queue(log_.log(), kShort, [&](const std::string& name, const std::stop_token&) {
    note(name);
    return Result<WorkQueue::Next>(hours(1));
  });
  queue.begin();
  queue.ask("a");
  ASSERT_TRUE(test::eventually([&] { return visited().size() == 1; }));
  queue.ask("a");
  EXPECT_TRUE(test::eventually([&] { return visited().size() == 2; }));
}

TEST_F(WorkQueueTest, AFailureIsLoggedOnceAndRetried) {
  std::atomic<int> attempts = 0;
  WorkQueue queue(log_.log(), kShort,
                  [&](const std::string&, const std::stop_token&) -> Result<WorkQueue::Next> {
                    if (++attempts < 4) return fail(Code::kUnavailable, "away");
                    return std::nullopt;
                  });
  queue.begin();
  queue.ask("a");
  ASSERT_TRUE(test::eventually([&] { return attempts == 4; }));
  EXPECT_EQ(log_.count("a: away"), 1);
}

TEST_F(WorkQueueTest, AskDoesNotShortenTheWaitAfterAFailure) {
  std::atomic<int> attempts = 0;
  WorkQueue queue(log_.log(), {.first = hours(1), .longest = hours(2)},
                  [&](const std::string& name, const std::stop_token&) -> Result<WorkQueue::Next> {
                    if (name == "b") note(name);
                    ++attempts;
                    return fail(Code::kUnavailable, "away");
                  });
  queue.begin();
  queue.ask("a");
  ASSERT_TRUE(test::eventually([&] { return log_.count("a: away") == 1; }));
  queue.ask("a");
  queue.ask("b");
  ASSERT_TRUE(test::eventually([&] { return visited().size() == 1; }));
  EXPECT_EQ(attempts, 2);
}

TEST_F(WorkQueueTest, AskAtOnceSkipsTheWaitAfterAFailure) {
  std::atomic<int> attempts = 0;
  WorkQueue queue(
      log_.log(), {.first = hours(1), .longest = hours(2)},
      [&](const std::string&, const std::stop_token&) -> Result<WorkQueue::Next> {
        ++attempts;
        return fail(Code::kUnavailable, "away");
      },
      WorkQueue::Complaint::kWithWaits);
  queue.begin();
  queue.ask("a");
  ASSERT_TRUE(test::eventually([&] { return log_.count("away") == 1; }));
  queue.ask_at_once("a");
  EXPECT_TRUE(test::eventually([&] { return attempts == 2; }));
  queue.stop();
  EXPECT_EQ(log_.count("away; trying again until it works (every 3600000 to 7200000 ms)"), 1);
}

// The running visit's failure is of the older state.
TEST_F(WorkQueueTest, AskAtOnceDuringAVisitCausesAnother) {
  std::atomic<int> attempts = 0;
  std::atomic<bool> may_end = false;
  WorkQueue queue(log_.log(), {.first = hours(1), .longest = hours(2)},
                  [&](const std::string&, const std::stop_token&) -> Result<WorkQueue::Next> {
                    if (++attempts > 1) return std::nullopt;
                    test::eventually([&] { return may_end.load(); });
                    return fail(Code::kUnavailable, "away");
                  });
  queue.begin();
  queue.ask("a");
  ASSERT_TRUE(test::eventually([&] { return attempts == 1; }));
  queue.ask_at_once("a");
  may_end = true;
  EXPECT_TRUE(test::eventually([&] { return attempts == 2; }));
  EXPECT_EQ(log_.count("away"), 0);
}

TEST_F(WorkQueueTest, AForgottenNameIsNotVisitedAndItsNextFailureIsLogged) {
  std::atomic<int> attempts = 0;
  WorkQueue queue(log_.log(), {.first = hours(1), .longest = hours(2)},
                  [&](const std::string& name, const std::stop_token&) -> Result<WorkQueue::Next> {
                    if (name == "b") note(name);
                    ++attempts;
                    return fail(Code::kUnavailable, "away");
                  });
  queue.begin();
  queue.ask("a");
  ASSERT_TRUE(test::eventually([&] { return log_.count("a: away") == 1; }));
  queue.forget("a");
  queue.forget("never asked");
  queue.ask("b");
  ASSERT_TRUE(test::eventually([&] { return visited().size() == 1; }));
  EXPECT_EQ(attempts, 2);
  queue.ask("a");
  EXPECT_TRUE(test::eventually([&] { return log_.count("a: away") == 2; }))
      << "it waits for no failure of before";
}

TEST_F(WorkQueueTest, EarlierAsksAreVisitedAfterBegin) {
  WorkQueue queue(log_.log(), kShort, [&](const std::string& name, const std::stop_token&) {
    note(name);
    return Result<WorkQueue::Next>(std::nullopt);
  });
  queue.ask("a");
  EXPECT_TRUE(visited().empty());
  queue.begin();
  EXPECT_TRUE(test::eventually([&] { return visited().size() == 1; }));
}

}  // namespace
}  // namespace tranche::controller::work_queue_test
