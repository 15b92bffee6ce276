#include "base/retrier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <semaphore>

#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::retrier_test {
namespace {

// A job that waits this long is not tried again within a test.
constexpr Backoff kNever{std::chrono::hours(1), std::chrono::hours(1)};
constexpr Backoff kQuick{std::chrono::milliseconds(1), std::chrono::milliseconds(4)};

class RetrierTest : public testing::Test {
 protected:
  void open(Backoff backoff) { retrier_.emplace(log_.log(), backoff); }
  // Asks for the job `aim` under "key"; the attempt fails while `failing_`.
  void request(const std::string& aim) {
    retrier_->request({.key = "key",
                       .attempt = [this](const std::stop_token&) -> Result<void> {
                         ++attempts_;
                         if (failing_) return fail(Code::kUnavailable, "away");
                         return {};
                       },
                       .done = "done " + aim,
                       .aim = aim});
  }
  // Asks for a job whose attempt waits for go_.
  void request_slow(const std::string& aim, bool works) {
    retrier_->request({.key = "key",
                       .attempt = [this, works](const std::stop_token&) -> Result<void> {
                         ++attempts_;
                         begun_.release();
                         go_.acquire();
                         if (!works) return fail(Code::kUnavailable, "away");
                         return {};
                       },
                       .done = "done slowly " + aim,
                       .aim = aim});
  }
  bool failed() {
    return test::eventually([this] { return log_.count("away; trying again") == 1; });
  }
  // Whether the thread has tried every job that is due. Jobs are tried in the order in which they
  // fall due, and this job falls due after all jobs that were asked for before it.
  bool settled() {
    std::atomic<bool> done = false;
    retrier_->request({.key = "barrier",
                       .attempt = [&](const std::stop_token&) -> Result<void> {
                         done = true;
                         return {};
                       },
                       .done = ""});
    return test::eventually([&] { return done.load(); });
  }

  test::LogRecorder log_;
  std::atomic<bool> failing_ = true;
  std::atomic<int> attempts_ = 0;
  std::binary_semaphore begun_{0};
  std::binary_semaphore go_{0};
  std::optional<Retrier> retrier_;
};

TEST_F(RetrierTest, TriesUntilItWorks) {
  open(kQuick);
  request("a");
  ASSERT_TRUE(test::eventually([&] { return attempts_ >= 3; }));
  EXPECT_EQ(log_.count("away; trying again"), 1) << "a failure is logged once";
  failing_ = false;
  EXPECT_TRUE(test::eventually([&] { return log_.count("done a") == 1; }));
}

TEST_F(RetrierTest, AskedForAgainItGoesOnWaiting) {
  open(kNever);
  request("a");
  ASSERT_TRUE(failed());
  for (int i = 0; i < 5; ++i) request("a");
  ASSERT_TRUE(settled());
  EXPECT_EQ(attempts_, 1);
}

TEST_F(RetrierTest, AskedForAgainItStillComesUp) {
  open(kQuick);
  request("a");
  ASSERT_TRUE(failed());
  failing_ = false;
  // If a request restarted the wait, each of these would put the next attempt off.
  EXPECT_TRUE(test::eventually([&] {
    if (log_.count("done a") > 0) return true;
    request("a");
    return false;
  }));
}

TEST_F(RetrierTest, AnotherAimIsTriedAtOnce) {
  open(kNever);
  request("a");
  ASSERT_TRUE(failed());
  failing_ = false;
  request("b");
  EXPECT_TRUE(test::eventually([&] { return log_.count("done b") == 1; }));
  EXPECT_EQ(attempts_, 2);
}

TEST_F(RetrierTest, WithoutAnAimItIsTriedAtOnce) {
  open(kNever);
  request("");
  ASSERT_TRUE(failed());
  failing_ = false;
  request("");
  EXPECT_TRUE(test::eventually([&] { return log_.count("done") == 1; }));
}

// The reason for the request may be something that the attempt under way does not know.
TEST_F(RetrierTest, AskedForDuringAnAttemptThatWorksItIsTriedOnceMore) {
  open(kNever);
  request_slow("a", true);
  begun_.acquire();
  failing_ = false;
  request("a");
  request("a");
  go_.release();
  EXPECT_TRUE(test::eventually([&] { return log_.count("done a") == 1; }));
  ASSERT_TRUE(settled());
  EXPECT_EQ(attempts_, 2);
}

// An attempt may take longer than the time between two changes.
TEST_F(RetrierTest, AskedForDuringAnAttemptThatFailsItWaits) {
  open(kNever);
  request_slow("a", false);
  begun_.acquire();
  request("a");
  go_.release();
  ASSERT_TRUE(failed());
  ASSERT_TRUE(settled());
  EXPECT_EQ(attempts_, 1);
}

TEST_F(RetrierTest, AnotherAimDuringAnAttemptTakesItsPlace) {
  open(kNever);
  request_slow("a", false);
  begun_.acquire();
  failing_ = false;
  request("b");
  go_.release();
  EXPECT_TRUE(test::eventually([&] { return log_.count("done b") == 1; }));
  EXPECT_EQ(log_.count("away"), 0) << "the outcome of what is no longer asked for";
}

TEST_F(RetrierTest, WhatIsForgottenBeginsAnew) {
  open(kNever);
  request("a");
  ASSERT_TRUE(failed());
  retrier_->forget("key");
  failing_ = false;
  request("a");
  EXPECT_TRUE(test::eventually([&] { return log_.count("done a") == 1; }));
}

}  // namespace
}  // namespace tranche::retrier_test
