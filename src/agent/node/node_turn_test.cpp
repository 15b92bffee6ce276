#include "agent/node/node_turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_clock.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::agent::node_turn_test {
namespace {

using testing::HasSubstr;

class NodeTurnTest : public testing::Test {
 protected:
  std::filesystem::path state() const { return dir_.path() / "state"; }
  NodeTurn await(const std::string& release, int waits) {
    AgentStatus status(state(), clock_, log_.log());
    return await_turn({.claim = {state(), release},
                       .wait =
                           [&] {
                             const auto asked = read_status(state(), std::chrono::hours(1));
                             if (asked) answer_ = asked->text;
                             return --waits > 0;
                           },
                       .tell = [&](const NodeNotice& notice) { told_.push_back(notice); }},
                      status, clock_, log_.log());
  }

  test::TempDir dir_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  std::vector<NodeNotice> told_;
  std::string answer_;
};

TEST_F(NodeTurnTest, TheFirstAgentClaimsTheNode) {
  const auto turn = await("a/gpu", 1);
  EXPECT_TRUE(turn.came);
  EXPECT_NE(turn.lock, nullptr);
  EXPECT_EQ(NodeClaim(state(), "").owner().value(), "a/gpu");
}

TEST_F(NodeTurnTest, ASecondReleaseIsToldWhoServes) {
  const auto first = await("a/gpu", 1);
  const auto second = await("b/second", 3);
  EXPECT_FALSE(second.came);
  EXPECT_EQ(answer_, "release a/gpu serves this node");
  EXPECT_EQ(log_.count("release a/gpu serves this node (it holds"), 1);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].reason, "AnotherReleaseServes");
  EXPECT_THAT(told_[0].note,
              HasSubstr("release a/gpu serves this node, and release b/second waits"));
}

TEST_F(NodeTurnTest, TheNextPodOfTheSameReleaseWaitsWithoutAnEvent) {
  const auto first = await("a/gpu", 1);
  EXPECT_FALSE(await("a/gpu", 2).came);
  EXPECT_EQ(log_.count("another agent serves this node (it holds"), 1);
  EXPECT_EQ(answer_, "another agent serves this node");
  EXPECT_TRUE(told_.empty());
}

TEST_F(NodeTurnTest, AStateFolderThatCannotBeUsedIsAWarning) {
  ASSERT_TRUE(FsRoot().write_atomic(state(), "a file"));
  const auto turn = await("a/gpu", 1);
  EXPECT_TRUE(turn.came);
  EXPECT_EQ(turn.lock, nullptr);
  EXPECT_EQ(log_.count("no node lock"), 1);
}

}  // namespace
}  // namespace tranche::agent::node_turn_test
