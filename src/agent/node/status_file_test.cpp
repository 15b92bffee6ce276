#include "agent/node/status_file.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace tranche::agent::status_file_test {
namespace {

using std::chrono::seconds;

// A wall clock that is some seconds ahead of the file system's.
class Ahead final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override {
    return std::chrono::steady_clock::time_point(ahead);
  }
  std::chrono::system_clock::time_point wall_now() const override {
    return std::chrono::system_clock::now() + ahead;
  }
  seconds ahead{0};
};

TEST(StatusFile, TellsHowTheAgentIs) {
  const test::TempDir dir;
  const Ahead clock;
  EXPECT_EQ(read_status(dir.path(), "h", seconds(30), clock).error().code, Code::kUnavailable);
  {
    StatusFile file(dir.path(), "h", clock);
    file.beat({.ready = false, .text = "no configuration\nyet"});
    EXPECT_EQ(*read_status(dir.path(), "h", seconds(30), clock),
              (Status{.ready = false, .text = "no configuration yet"}));
    file.beat({.ready = true, .text = "key l20"});
    EXPECT_EQ(*read_status(dir.path(), "h", seconds(30), clock),
              (Status{.ready = true, .text = "key l20"}));
    EXPECT_FALSE(read_status(dir.path(), "another", seconds(30), clock));
  }
  EXPECT_FALSE(read_status(dir.path(), "h", seconds(30), clock)) << "gone with the agent";
}

TEST(StatusFile, AnOldBeatIsNoLife) {
  const test::TempDir dir;
  Ahead clock;
  StatusFile file(dir.path(), "h", clock);
  file.beat({.ready = true, .text = "x"});
  clock.ahead = seconds(40);
  EXPECT_FALSE(read_status(dir.path(), "h", seconds(30), clock));
  EXPECT_TRUE(read_status(dir.path(), "h", seconds(60), clock));
}

TEST(StatusFile, WritesAnewAfterAMoment) {
  const test::TempDir dir;
  Ahead clock;
  StatusFile file(dir.path(), "h", clock);
  const auto path = dir.path() / "agent.h.status";
  file.beat({.ready = true, .text = "x"});
  std::filesystem::remove(path);
  file.beat({.ready = true, .text = "x"});
  EXPECT_FALSE(std::filesystem::exists(path)) << "nothing changed, and it is not time yet";
  clock.ahead = seconds(6);
  file.beat({.ready = true, .text = "x"});
  EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace tranche::agent::status_file_test
