#include "agent/limits/arbiter_watch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"
#include "process/liveness_file.h"
#include "support/fake_clock.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::agent::arbiter_watch_test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class ArbiterWatchTest : public testing::Test {
 protected:
  // Looks every 2 s, as the agent does, with an arbiter that lives or has ended.
  void pass(seconds time, bool lives) {
    const auto file = dir_.path() / process::LivenessFile::kArbiters;
    for (seconds at{0}; at < time; at += seconds(2)) {
      const auto now = std::chrono::duration_cast<seconds>(clock_.wall_now().time_since_epoch());
      if (lives) {
        ASSERT_TRUE(FsRoot().write_atomic(file, fmt::format("{}\n", now.count())));
      } else {
        ASSERT_TRUE(FsRoot().remove(file));
      }
      watch_.look();
      clock_.advance(seconds(2));
    }
  }
  // "ArbiterRuns", "ArbiterGone"; "": nothing was reported.
  std::string reason() const { return last_ ? last_->reason : ""; }

  test::TempDir dir_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  std::optional<ConditionReport> last_;
  int changes_ = 0;
  ArbiterWatch watch_{dir_.path(),
                      [this](const ConditionReport& report) {
                        if (last_ != report) ++changes_;
                        last_ = report;
                      },
                      clock_, log_.log()};
};

TEST_F(ArbiterWatchTest, OneThatEndsAfterStartIsToldAndHeals) {
  pass(seconds(60), true);
  EXPECT_EQ(reason(), "ArbiterRuns");
  EXPECT_FALSE(last_->written_while_good) << "a node on which it always ran has no condition";
  pass(ArbiterWatch::kPatience + seconds(2), false);
  ASSERT_EQ(reason(), "ArbiterGone");
  EXPECT_FALSE(last_->good);
  EXPECT_TRUE(last_->as_event);
  EXPECT_THAT(last_->message, HasSubstr("look at its Pod"));
  EXPECT_EQ(log_.count("the arbiter does not run on this node"), 1);
  pass(ArbiterWatch::kSettled + seconds(2), true);
  EXPECT_EQ(reason(), "ArbiterRuns");
  EXPECT_TRUE(last_->good);
  EXPECT_TRUE(last_->as_event);
  EXPECT_EQ(log_.count("the arbiter runs again"), 1);
}

TEST_F(ArbiterWatchTest, ARollOutIsNotTold) {
  pass(seconds(60), true);
  pass(seconds(20), false);
  pass(seconds(60), true);
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(log_.count("the arbiter"), 0);
}

TEST_F(ArbiterWatchTest, OneThatNeverCameIsTold) {
  pass(ArbiterWatch::kPatience, false);
  EXPECT_EQ(reason(), "");
  pass(seconds(2), false);
  EXPECT_EQ(reason(), "ArbiterGone");
}

TEST_F(ArbiterWatchTest, OneThatEndsAgainAndAgainIsToldOnce) {
  pass(seconds(60), true);
  for (int i = 0; i < 20; ++i) {
    pass(seconds(20), false);
    pass(seconds(4), true);
  }
  EXPECT_EQ(reason(), "ArbiterGone");
  EXPECT_EQ(changes_, 2);
}

TEST_F(ArbiterWatchTest, OneThatHangsIsToldAsGone) {
  pass(seconds(60), true);
  for (int i = 0; i < 40; ++i) {
    watch_.look();
    clock_.advance(seconds(2));
  }
  EXPECT_EQ(reason(), "ArbiterGone");
}

}  // namespace
}  // namespace tranche::agent::arbiter_watch_test
