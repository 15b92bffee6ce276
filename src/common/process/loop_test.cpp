#include "process/loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"

namespace tranche::process::loop_test {
namespace {

// A loop whose signals come through a pipe.
class LoopTest : public testing::Test {
 protected:
  LoopTest() : loop_(Loop::open().value()) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
    signals_ = Descriptor(ends[0]);
    sender_ = Descriptor(ends[1]);
  }

  void signal(int number) {
    signalfd_siginfo info{};
    info.ssi_signo = static_cast<std::uint32_t>(number);
    ASSERT_EQ(::write(sender_.get(), &info, sizeof(info)), static_cast<ssize_t>(sizeof(info)));
  }
  Result<void> run() {
    return loop_->run(signals_.get(), {.hangup = [this] { done_.emplace_back("hangup"); },
                                       .turn =
                                           [this] {
                                             done_.emplace_back("turn");
                                             if (on_turn_) on_turn_();
                                           },
                                       .longest_sleep = [this] { return sleep_; },
                                       .stuck =
                                           [this] {
                                             done_.emplace_back("stuck");
                                             if (on_stuck_) on_stuck_();
                                           },
                                       .pause = std::chrono::hours(1)});
  }
  long count(const std::string& what) const { return std::ranges::count(done_, what); }

  std::unique_ptr<Loop> loop_;
  Descriptor signals_;
  Descriptor sender_;
  std::vector<std::string> done_;
  std::function<void()> on_turn_;
  std::function<void()> on_stuck_;
  std::chrono::milliseconds sleep_ = std::chrono::hours(1);
};

TEST_F(LoopTest, ASignalThatEndsTheProcessEndsItWithoutAnotherTurn) {
  signal(SIGTERM);
  ASSERT_TRUE(run());
  EXPECT_TRUE(done_.empty());
}

TEST_F(LoopTest, WhatStaysDueIsSaidOnceAndWaitedFor) {
  sleep_ = std::chrono::milliseconds(0);
  std::jthread ends;
  on_stuck_ = [&] {
    ends = std::jthread([this] {
      loop_->post([] {});
      signal(SIGTERM);
    });
  };
  ASSERT_TRUE(run());
  EXPECT_EQ(count("stuck"), 1);
  // What wakes it is heeded all the same.
  EXPECT_GE(loop_->turns(), std::uint64_t{Loop::kMostDue} - 1);
  EXPECT_LE(loop_->turns(), std::uint64_t{Loop::kMostDue} + 1);
}

TEST_F(LoopTest, WhatIsDueAgainLaterIsNotStuck) {
  int turns = 0;
  sleep_ = std::chrono::milliseconds(0);
  on_turn_ = [&] {
    sleep_ = std::chrono::milliseconds(++turns % (Loop::kMostDue - 1) == 0 ? 1 : 0);
    if (turns == 5 * Loop::kMostDue) signal(SIGTERM);
  };
  ASSERT_TRUE(run());
  EXPECT_EQ(count("stuck"), 0);
}

TEST_F(LoopTest, AHangupIsATurnAndNotTheEnd) {
  on_turn_ = [this] { signal(SIGINT); };
  signal(SIGHUP);
  ASSERT_TRUE(run());
  EXPECT_EQ(done_, (std::vector<std::string>{"hangup", "turn"}));
}

TEST_F(LoopTest, AHangupAfterTheEndIsIgnored) {
  signal(SIGTERM);
  signal(SIGHUP);
  ASSERT_TRUE(run());
  EXPECT_EQ(count("hangup"), 0);
}

TEST_F(LoopTest, TasksOfOtherThreadsAreDoneInOrderBeforeTheTurn) {
  on_turn_ = [this] {
    if (count("two") > 0) signal(SIGTERM);
  };
  const std::jthread other([this] {
    loop_->post([this] { done_.emplace_back("one"); });
    loop_->post([this] { done_.emplace_back("two"); });
  });
  ASSERT_TRUE(run());
  EXPECT_EQ(count("one"), 1);
  EXPECT_LT(std::ranges::find(done_, "one"), std::ranges::find(done_, "two"));
  EXPECT_EQ(done_.back(), "turn");
}

TEST_F(LoopTest, WhatWasPostedBeforeItRanIsDone) {
  loop_->post([this] { signal(SIGTERM); });
  ASSERT_TRUE(run());
  EXPECT_EQ(count("turn"), 1);
}

TEST_F(LoopTest, ADescriptorWakesItUntilItIsForgotten) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
  const Descriptor from(ends[0]);
  const Descriptor to(ends[1]);
  ASSERT_TRUE(loop_->on_readable(from.get(), [&] {
    done_.emplace_back("readable");
    loop_->forget(from.get());  // the byte to read stays in the pipe
    loop_->post([this] { signal(SIGTERM); });
  }));
  ASSERT_EQ(::write(to.get(), "x", 1), 1);
  ASSERT_TRUE(run());
  EXPECT_EQ(count("readable"), 1);
}

TEST_F(LoopTest, ATimeThatHasComeIsATurn) {
  sleep_ = std::chrono::milliseconds(0);
  on_turn_ = [this] {
    if (count("turn") == 3) signal(SIGTERM);
  };
  ASSERT_TRUE(run());
  EXPECT_GE(count("turn"), 3);
}

TEST_F(LoopTest, ItRunsAgain) {
  signal(SIGTERM);
  ASSERT_TRUE(run());
  signal(SIGTERM);
  EXPECT_TRUE(run());
}

}  // namespace
}  // namespace tranche::process::loop_test
