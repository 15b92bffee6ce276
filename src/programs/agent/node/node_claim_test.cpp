#include "agent/node/node_claim.h"

#include <gtest/gtest.h>

#include "base/fs.h"
#include "support/claimed_node.h"
#include "support/fake_clock.h"

namespace tranche::agent::node_claim_test {
namespace {

class NodeClaimTest : public testing::Test, protected test::ClaimedNode {
 protected:
  // At most `waits` times a minute.
  Lock take(const std::string& release, int waits, const std::function<void()>& meanwhile = {},
            bool take_over = false) {
    auto lock = take_turn(claim(release), take_over, clock_, [&](const ClaimWait& wait) {
      EXPECT_EQ(wait.first, told_.empty());
      told_.push_back(wait.other.value_or(""));
      clock_.advance(std::chrono::minutes(1));
      if (meanwhile) meanwhile();
      return --waits > 0;
    });
    EXPECT_TRUE(lock);
    return lock ? *std::move(lock) : nullptr;
  }

  test::FakeClock clock_;
  std::vector<std::string> told_;
};

std::optional<std::string> other(const NodeClaim& claim) {
  const auto found = claim.other();
  return found ? std::optional(found->release) : std::nullopt;
}

TEST_F(NodeClaimTest, OutlivesTheAgent) {
  EXPECT_EQ(claim("a/gpu").owner().value(), std::nullopt);
  serve("a/gpu").reset();
  EXPECT_EQ(claim("a/gpu").owner().value(), "a/gpu");
  EXPECT_EQ(other(claim("a/gpu")), std::nullopt);
  EXPECT_EQ(other(claim("b/gpu")), "a/gpu");
  EXPECT_EQ(other(claim("")), "a/gpu");
  ASSERT_TRUE(claim("a/gpu").clear());
  EXPECT_EQ(claim("b/gpu").owner().value(), std::nullopt);
}

TEST_F(NodeClaimTest, AnAgentWithoutAReleaseClaimsNothing) {
  serve("");
  EXPECT_EQ(claim("a/gpu").owner().value(), std::nullopt);
  serve("a/gpu").reset();
  serve("");
  EXPECT_EQ(claim("a/gpu").owner().value(), std::nullopt) << "it serves now";
}

TEST_F(NodeClaimTest, AShorterNameReplacesALongerOne) {
  serve("namespace/a-long-name").reset();
  ASSERT_TRUE(claim("b/x").write());
  EXPECT_EQ(claim("").owner().value(), "b/x");
}

TEST_F(NodeClaimTest, ATornFileIsAnErrorAndNamesNobody) {
  serve("b/gpu").reset();
  const auto torn = claim("");
  for (const auto& file : torn.files()) {
    ASSERT_TRUE(FsRoot().write_atomic(file, R"({"checksum":"0)"));
  }
  EXPECT_EQ(claim("").owner().error().code, Code::kInvalidArgument);
  EXPECT_EQ(other(claim("a/gpu")), std::nullopt);
  ASSERT_TRUE(claim("a/gpu").write());
  EXPECT_EQ(claim("").owner().value(), "a/gpu");
}

TEST_F(NodeClaimTest, ThePodThatReplacesAnotherOfItsReleaseIsNotKeptWaiting) {
  serve("a/gpu").reset();
  EXPECT_NE(take("a/gpu", 1), nullptr);
  EXPECT_TRUE(told_.empty());
}

// The second release's agent, while the first one's Pod is replaced.
TEST_F(NodeClaimTest, AnotherReleaseDoesNotTakeTheNodeBetweenTwoPods) {
  serve("a/gpu").reset();
  EXPECT_EQ(take("b/second", 4), nullptr);
  EXPECT_EQ(told_, std::vector<std::string>(4, "a/gpu"));
}

TEST_F(NodeClaimTest, TheTimeWithoutAnAgentBeginsAnewWithEach) {
  auto first = serve("a/gpu");
  int minute = 0;
  EXPECT_EQ(take("b/second", 10,
                 [&] {
                   if (++minute == 3) first.reset();
                   if (minute == 6) first = serve("a/gpu");
                   if (minute == 8) first.reset();
                 }),
            nullptr);
}

TEST_F(NodeClaimTest, AReleaseWithoutAnAgentLosesTheNode) {
  serve("a/gpu").reset();
  const auto lock = take("b/second", 10);
  ASSERT_NE(lock, nullptr);
  EXPECT_EQ(told_.size(), 5U);
  ASSERT_TRUE(claim("b/second").write());
  EXPECT_EQ(other(claim("a/gpu")), "b/second");
}

TEST_F(NodeClaimTest, TakingOverWaitsForAnAgentOnly) {
  auto first = serve("a/gpu");
  const auto lock = take("b/second", 10, [&] { first.reset(); }, true);
  EXPECT_NE(lock, nullptr);
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(NodeClaimTest, ACleanupGivesTheNodeToWhoWaits) {
  auto first = serve("a/gpu");
  const auto lock = take("b/second", 10, [&] {
    ASSERT_TRUE(claim("").remove());
    first.reset();
  });
  EXPECT_NE(lock, nullptr);
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(NodeClaimTest, AgentsWithOtherStateFoldersSeeEachOther) {
  const auto first = serve("a/gpu");
  EXPECT_EQ(other(claim("b/second", "elsewhere")), "a/gpu");
  EXPECT_TRUE(claim("b/second", "elsewhere").is_held());
  const auto shared = claim("").files().front();
  int waits = 0;
  const auto second =
      take_turn(claim("b/second", "elsewhere"), false, clock_, [&](const ClaimWait& wait) {
        EXPECT_EQ(wait.other, "a/gpu");
        EXPECT_EQ(wait.file, shared);
        return ++waits < 2;
      });
  ASSERT_TRUE(second);
  EXPECT_EQ(*second, nullptr);
  EXPECT_FALSE(std::filesystem::exists(claim("", "elsewhere").files().back().parent_path()));
}

TEST_F(NodeClaimTest, TheNextStateFolderOfAReleaseKnowsTheOneBefore) {
  serve("a/gpu").reset();
  EXPECT_EQ(claim("a/gpu").other_state(), std::nullopt);
  EXPECT_EQ(claim("b/second", "elsewhere").other_state(), std::nullopt) << "another release's";
  const auto next = claim("a/gpu", "elsewhere");
  EXPECT_EQ(next.other_state(), claim("").files().back().parent_path().string());
  serve("a/gpu", "elsewhere").reset();
  EXPECT_EQ(next.other_state(), std::nullopt);
}

TEST_F(NodeClaimTest, AFolderThatCannotBeUsedLeavesTheOthers) {
  const auto shared = claim("a/gpu").files().front().parent_path();
  ASSERT_TRUE(FsRoot().write_atomic(shared, "a file"));
  const auto lock = take("a/gpu", 1);
  ASSERT_NE(lock, nullptr);
  EXPECT_EQ(lock->files.size(), 1U);
  EXPECT_TRUE(lock->trouble);
  ASSERT_TRUE(claim("a/gpu").write());
  EXPECT_EQ(other(claim("b/second")), "a/gpu");
}

TEST_F(NodeClaimTest, IsInEachFolderOfKubeletsThatTheAgentServes) {
  const auto kubelet = claim("").files().front().parent_path().parent_path() / "k";
  ASSERT_TRUE(FsRoot().make_directories(kubelet / "device-plugins"));
  ASSERT_TRUE(FsRoot().make_directories(kubelet / "plugins"));
  config::AgentOptions options{.kubelet_root = kubelet.string(), .state_dir = "/s"};
  const auto plugins = kubelet / "device-plugins" / "tranche" / "agent.lock";
  const auto claims = kubelet / "plugins" / "gpu.nvidia.com" / "agent.lock";
  using Files = std::vector<std::filesystem::path>;
  EXPECT_EQ(NodeClaim::of(options).files(), (Files{plugins, "/s/agent.lock"}));
  options.dra = true;
  EXPECT_EQ(NodeClaim::of(options).files(), (Files{plugins, claims, "/s/agent.lock"}));
  options.kubelet_socket.clear();
  EXPECT_EQ(NodeClaim::of(options).files(), (Files{claims, "/s/agent.lock"}));
}

TEST_F(NodeClaimTest, WithoutKubeletsFolderThereIsTheStateFolderAlone) {
  const NodeClaim claim("/s", "a/gpu", {"/nosuch/device-plugins/tranche"});
  EXPECT_EQ(claim.files(), std::vector<std::filesystem::path>{"/s/agent.lock"});
}

// An agent older than claims serves, and then one of another release takes the node.
TEST_F(NodeClaimTest, WhoClaimsTheNodeMeanwhileHasIt) {
  auto nameless = serve("");
  EXPECT_EQ(take("b/second", 3,
                 [&] {
                   if (told_.size() > 1) return;
                   ASSERT_TRUE(claim("a/gpu").write());
                   nameless.reset();
                 }),
            nullptr);
  EXPECT_EQ(told_, (std::vector<std::string>{"", "a/gpu", "a/gpu"}));
}

}  // namespace
}  // namespace tranche::agent::node_claim_test
