#include "agent/cleanup/cleanup_turn.h"

#include <gtest/gtest.h>

#include "base/fs.h"
#include "support/claimed_node.h"

namespace tranche::agent::cleanup_turn_test {
namespace {

class CleanupTurnTest : public testing::Test, protected test::ClaimedNode {
 protected:
  Result<CleanupTurn> take(const std::string& release, const std::function<bool()>& waiting) {
    return take_cleanup_turn(claim(release), [&](const auto&) {
      ++waits_;
      return waiting();
    });
  }
  Result<CleanupTurn> take(const std::string& release) {
    return take(release, [] { return false; });
  }

  int waits_ = 0;
};

TEST_F(CleanupTurnTest, WaitsForItsOwnReleasesAgent) {
  auto agent = serve("a/gpu");
  const auto turn = take("a/gpu", [&] {
    agent.reset();
    return true;
  });
  ASSERT_TRUE(turn);
  EXPECT_NE(turn->lock, nullptr);
  EXPECT_EQ(turn->server, "");
  EXPECT_EQ(waits_, 1);
}

TEST_F(CleanupTurnTest, NeverWaitsForAnotherReleasesAgent) {
  const auto agent = serve("a/gpu");
  const auto turn = take("b/second");
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->lock, nullptr);
  EXPECT_EQ(turn->server, "release a/gpu");
  EXPECT_EQ(waits_, 0);
}

TEST_F(CleanupTurnTest, AnotherStateFolderMakesNoOtherNode) {
  const auto agent = serve("a/gpu");
  const auto turn = take_cleanup_turn(claim("b/second", "elsewhere"), [](const auto&) {
    ADD_FAILURE() << "it waits";
    return false;
  });
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->lock, nullptr);
  EXPECT_EQ(turn->server, "release a/gpu");
}

// The first release's Pod is being replaced.
TEST_F(CleanupTurnTest, DoesNotTakeTheNodeOfAReleaseWithoutAnAgent) {
  serve("a/gpu").reset();
  const auto turn = take("b/second");
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->lock, nullptr);
  EXPECT_EQ(turn->server, "release a/gpu");
}

TEST_F(CleanupTurnTest, AnAgentWithoutAReleaseIsNotItsOwn) {
  const auto agent = serve("");
  const auto turn = take("b/second");
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->lock, nullptr);
  EXPECT_EQ(turn->server, "an agent that names no release");
}

TEST_F(CleanupTurnTest, WhatNobodyClaimedIsCleared) {
  const auto turn = take("b/second");
  ASSERT_TRUE(turn);
  EXPECT_NE(turn->lock, nullptr) << "nothing ever ran here";
}

TEST_F(CleanupTurnTest, WhoClaimsTheNodeMeanwhileKeepsIt) {
  auto agent = serve("b/second");
  const auto turn = take("b/second", [&] {
    EXPECT_TRUE(claim("a/gpu").write());
    agent.reset();
    return true;
  });
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->lock, nullptr);
  EXPECT_EQ(turn->server, "release a/gpu");
}

TEST_F(CleanupTurnTest, ByHandItClearsWhoeverClaimedTheNode) {
  auto agent = serve("a/gpu");
  EXPECT_EQ(take("").value().lock, nullptr);
  EXPECT_EQ(waits_, 1);
  agent.reset();
  EXPECT_NE(take("").value().lock, nullptr);
}

TEST_F(CleanupTurnTest, AClaimThatCannotBeReadIsNobodysToClear) {
  serve("a/gpu").reset();
  ASSERT_TRUE(FsRoot().write_atomic(claim("").files().back(), "torn"));
  EXPECT_EQ(take("a/gpu").error().code, Code::kInvalidArgument);
  EXPECT_NE(take("").value().lock, nullptr) << "by hand";
}

}  // namespace
}  // namespace tranche::agent::cleanup_turn_test
