#include "agent/node/node_turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>
#include <tuple>

#include "base/fs.h"
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
                           [&](int) {
                             const auto asked = read_status(state(), std::chrono::hours(1));
                             if (asked)
                               std::tie(answer_, was_ready_) = std::tie(asked->text, asked->ready);
                             return --waits > 0;
                           },
                       .tell =
                           [&](const NodeNotice& notice) {
                             told_.push_back(notice);
                             is_answered_ = bool{read_status(state(), std::chrono::hours(1))};
                           },
                       .can_serve = can_serve_},
                      status, clock_, log_.log());
  }

  test::TempDir dir_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  std::vector<NodeNotice> told_;
  std::string answer_;
  bool was_ready_ = false;
  bool is_answered_ = false;  // when it told
  std::function<Result<void>()> can_serve_;
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
  EXPECT_TRUE(is_answered_) << "who reads of it may ask";
  EXPECT_EQ(told_[0].reason, "AnotherReleaseServes");
  EXPECT_THAT(told_[0].note,
              HasSubstr("release a/gpu serves this node, and release b/second waits"));
}

TEST_F(NodeTurnTest, TheNextPodOfTheSameReleaseWaitsWithoutAnEvent) {
  const auto first = await("a/gpu", 1);
  EXPECT_FALSE(await("a/gpu", 2).came);
  EXPECT_EQ(log_.count("another agent serves this node (it holds"), 1);
  EXPECT_EQ(answer_, "prepared to take over from the agent that serves this node");
  EXPECT_TRUE(told_.empty());
}

TEST_F(NodeTurnTest, OnlyAnAgentNextToItsOwnReleaseOrAnOldOneIsReady) {
  auto first = await("a/gpu", 1);
  await("a/gpu", 2);
  EXPECT_TRUE(was_ready_) << "the other one listens nowhere: it is of a version before";
  await("b/second", 2);
  EXPECT_FALSE(was_ready_);
  first.lock.reset();
  ASSERT_TRUE(NodeClaim(state(), "").clear());
  first = await("", 1);
  await("a/gpu", 2);
  EXPECT_TRUE(was_ready_) << "it names no release";
}

TEST_F(NodeTurnTest, AnAgentThatCouldNotServeIsNotPrepared) {
  const auto first = await("a/gpu", 1);
  const auto serving = process::Handover::listen(state() / kHandoverSocket, "a/gpu").value();
  can_serve_ = [] { return fail(Code::kUnavailable, "the API server has not answered yet"); };
  EXPECT_FALSE(await("a/gpu", 3).came);
  EXPECT_FALSE(was_ready_);
  EXPECT_EQ(answer_,
            "another agent serves this node; not prepared to take over: the API server has not "
            "answered yet");
  serving->accept();
  EXPECT_FALSE(serving->has_successor());
}

TEST_F(NodeTurnTest, TheNextAgentIsHandedTheLockThatIsNeverFree) {
  auto first = await("a/gpu", 1);
  const auto serving = process::Handover::listen(state() / kHandoverSocket, "a/gpu").value();
  std::jthread accepts([&] {
    while (!serving->has_successor()) serving->accept();
  });
  // Waits until the other one has handed over.
  const auto hand_over = [&](int readable) {
    if (accepts.joinable()) accepts.join();
    std::vector<process::NamedDescriptor> held;
    const int lock = first.lock->files.front().lock->fd();
    held.push_back({std::string(kHandedLock), Descriptor(::dup(lock))});
    held.push_back({"nvidia-gpu.sock", Descriptor(::dup(lock))});
    EXPECT_TRUE(serving->give(held));
    EXPECT_GE(readable, 0);
    return true;
  };
  AgentStatus status(state(), clock_, log_.log());
  const NodeClaim claim(state(), "a/gpu");
  const auto next =
      await_turn({.claim = claim, .wait = hand_over, .tell = {}}, status, clock_, log_.log());
  EXPECT_TRUE(next.came);
  ASSERT_NE(next.lock, nullptr);
  EXPECT_GE(next.predecessor.fd(), 0);
  ASSERT_TRUE(next.inherited);
  ASSERT_EQ(next.inherited->size(), 1U);
  EXPECT_EQ(next.inherited->front().name, "nvidia-gpu.sock");
  first.lock.reset();
  EXPECT_TRUE(claim.is_held());
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
