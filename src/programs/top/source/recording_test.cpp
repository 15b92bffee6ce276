#include "top/source/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "support/temp_dir.h"
#include "top/source/agent_or_local.h"
#include "top/source/poller.h"
#include "top/view/testing.h"

namespace tranche::top {
namespace {

using test::TempDir;
using ::testing::HasSubstr;

constexpr std::uint64_t kMuch = std::uint64_t{1} << 30U;

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class RecordingTest : public ::testing::Test {
 protected:
  void record(const Reading& reading, std::uint64_t limit = kMuch) {
    auto recorder = Recorder::open(path_, limit);
    ASSERT_TRUE(recorder) << recorder.error().message();
    const auto kept = (*recorder)->append(reading);
    ASSERT_TRUE(kept) << kept.error().message();
  }
  std::unique_ptr<Replay> replay(double speed = 10'000) {
    auto opened = Replay::open(path_, speed);
    EXPECT_TRUE(opened);
    return *std::move(opened);
  }
  void append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }

  TempDir dir_;
  std::string path_ = (dir_.path() / "r.jsonl").string();
};

TEST_F(RecordingTest, PlaysWhatWasRecorded) {
  const auto node = testing::node_reading();
  const auto fleet = testing::fleet_reading();
  record(node);
  record(fleet);  // another recorder: it goes on
  const auto player = replay();
  EXPECT_EQ(player->read({}).value(), node);
  EXPECT_EQ(player->read({}).value(), fleet);
  EXPECT_EQ(player->read({}).error().code, Code::kNotFound);
  EXPECT_EQ(replay()->last().value(), fleet);
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(RecordingTest, ATornLineIsToldAndLeftOut) {
  const auto node = testing::node_reading();
  record(node);
  append(R"({"version":"usage/v1","tak)");
  const auto player = replay();
  EXPECT_TRUE(player->read({}));
  EXPECT_EQ(player->read({}).error().code, Code::kNotFound);
  EXPECT_EQ(player->note(), "the last line is torn and left out");
  EXPECT_EQ(replay()->last().value(), node);

  // The next recorder begins a line of its own.
  record(node);
  const auto again = replay();
  EXPECT_TRUE(again->read({}));
  EXPECT_TRUE(again->read({}));
  EXPECT_THAT(again->note(), HasSubstr("line 2 is no reading and left out"));
}

TEST_F(RecordingTest, GarbageIsNoReading) {
  append("\nhello\n[]\n{\"version\":\"usage/v9\"}\n");
  EXPECT_EQ(replay()->read({}).error().code, Code::kNotFound);
  EXPECT_EQ(replay()->last().error().code, Code::kInvalidArgument);
  EXPECT_EQ(Replay::open(path_ + ".none", 1).error().code, Code::kNotFound);
  EXPECT_FALSE(Replay::open(dir_.path().string(), 1));
}

TEST_F(RecordingTest, TheLimitLeavesOutWholeReadings) {
  const auto node = testing::node_reading();
  const auto size = recorded_text(node).size() + 1;
  auto recorder = Recorder::open(path_, 2 * size);
  ASSERT_TRUE(recorder);
  EXPECT_TRUE((*recorder)->append(node));
  EXPECT_TRUE((*recorder)->append(node));
  const auto refused = (*recorder)->append(node);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("--record-limit"));
  EXPECT_EQ(text_of_file(path_).size(), 2 * size);
}

TEST_F(RecordingTest, AFullDiskIsToldAndTriedAgain) {
  auto recorder = Recorder::open("/dev/full", kMuch);
  ASSERT_TRUE(recorder);
  for (int i = 0; i < 2; ++i) {
    const auto refused = (*recorder)->append(testing::node_reading());
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().what, HasSubstr("No space left"));
  }
}

TEST_F(RecordingTest, AHeldReplayWaits) {
  record(testing::node_reading());
  const auto player = replay();
  player->hold(true);
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_EQ(player->read(stop.get_token()).error().code, Code::kUnavailable);
}

// Answers what a test tells it.
class Scripted final : public Source {
 public:
  Scripted(std::string name, Result<Reading> answer)
      : name_(std::move(name)), answer_(std::move(answer)) {}
  Result<Reading> read(const std::stop_token&) override { return answer_; }
  std::string name() const override { return name_; }

 private:
  std::string name_;
  Result<Reading> answer_;
};

TEST(AgentOrLocal, TheDriverIsAskedOnlyIfNoAgentIsThere) {
  const auto node = testing::node_reading();
  const auto source = [](const char* name, Result<Reading> answer) {
    return std::make_unique<Scripted>(name, std::move(answer));
  };
  AgentOrLocal first(source("agent", node), source("driver", fail(Code::kInternal, "not asked")));
  EXPECT_TRUE(first.read({}));
  EXPECT_EQ(first.name(), "agent");
  AgentOrLocal second(source("agent", fail(Code::kUnavailable, "nobody")), source("driver", node));
  EXPECT_TRUE(second.read({}));
  EXPECT_EQ(second.name(), "driver");
  EXPECT_EQ(second.note(), "without an agent: no Pods' names");
  AgentOrLocal refused(source("agent", fail(Code::kPermission, "401")), source("driver", node));
  EXPECT_EQ(refused.read({}).error().code, Code::kPermission);
  AgentOrLocal none(source("agent", fail(Code::kUnavailable, "nobody")),
                    source("driver", fail(Code::kUnavailable, "no driver")));
  EXPECT_THAT(none.read({}).error().what,
              ::testing::AllOf(HasSubstr("nobody"), HasSubstr("no driver")));
}

// Hangs until it is stopped.
class Hanging final : public Source {
 public:
  Result<Reading> read(const std::stop_token& stop) override {
    while (!stop.stop_requested()) std::this_thread::yield();
    return fail(Code::kUnavailable, "stopped");
  }
  std::string name() const override { return "hanging"; }
};

TEST(Poller, AHangingSourceHangsNobody) {
  Poller poller(std::make_unique<Hanging>(), nullptr, std::chrono::milliseconds(1));
  EXPECT_EQ(poller.latest().reading, nullptr);
  EXPECT_EQ(poller.latest().name, "hanging");
  EXPECT_TRUE(poller.stop(std::chrono::seconds(60)));
}

TEST(Poller, KeepsTheLastReadingAndRecords) {
  TempDir dir;
  const auto path = (dir.path() / "r").string();
  Poller poller(std::make_unique<Scripted>("s", testing::node_reading()),
                *Recorder::open(path, kMuch), std::chrono::milliseconds(1));
  while (poller.latest().number < 3) std::this_thread::yield();
  EXPECT_TRUE(poller.stop(std::chrono::seconds(60)));
  EXPECT_EQ(*poller.latest().reading, testing::node_reading());
  EXPECT_TRUE(Replay::open(path, 10'000).value()->last());
}

}  // namespace
}  // namespace tranche::top
