#include "agent/node/agent_status.h"

#include <gtest/gtest.h>

#include "support/fake_clock.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::agent::agent_status_test {
namespace {

using std::chrono::seconds;

class AgentStatusTest : public testing::Test {
 protected:
  test::TempDir dir_;
  test::FakeClock clock_;
  test::LogRecorder log_;
};

TEST_F(AgentStatusTest, TellsHowTheAgentIs) {
  EXPECT_EQ(read_status(dir_.path(), seconds(30)).error().code, Code::kUnavailable);
  {
    AgentStatus status(dir_.path(), clock_, log_.log());
    status.beat({.ready = false, .text = "no configuration\nyet"});
    EXPECT_EQ(*read_status(dir_.path(), seconds(30)),
              (Status{.ready = false, .text = "no configuration yet"}));
    status.beat({.ready = true, .text = "key l20", .turns = 1234});
    EXPECT_EQ(*read_status(dir_.path(), seconds(30)),
              (Status{.ready = true, .text = "key l20", .turns = 1234}));
    EXPECT_FALSE(read_status(dir_.path() / "another", seconds(30)));
  }
  EXPECT_FALSE(read_status(dir_.path(), seconds(30))) << "gone with the agent";
}

TEST_F(AgentStatusTest, AnOldBeatIsNoLife) {
  AgentStatus status(dir_.path(), clock_, log_.log());
  status.beat({.ready = true, .text = "x"});
  clock_.advance(seconds(40));
  EXPECT_FALSE(read_status(dir_.path(), seconds(30)));
  EXPECT_TRUE(read_status(dir_.path(), seconds(60)));
}

TEST_F(AgentStatusTest, ItNeedsNoFolder) {
  const auto nowhere = dir_.path() / "none" / "below";
  AgentStatus status(nowhere, clock_, log_.log());
  status.beat({.ready = true, .text = "x"});
  EXPECT_TRUE(read_status(nowhere, seconds(30)));
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "none"));
}

TEST_F(AgentStatusTest, ASecondAgentOfTheFolderSaysOnceThatNobodyCanAskIt) {
  AgentStatus first(dir_.path(), clock_, log_.log());
  first.beat({.ready = true, .text = "first"});
  AgentStatus second(dir_.path(), clock_, log_.log());
  second.beat({.ready = true, .text = "second"});
  second.beat({.ready = true, .text = "second"});
  EXPECT_EQ(log_.count("probes cannot ask this agent how it is"), 1);
  EXPECT_EQ(read_status(dir_.path(), seconds(30))->text, "first");
}

}  // namespace
}  // namespace tranche::agent::agent_status_test
