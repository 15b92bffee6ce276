// A change of the layout of a GPU that shares an MPS control daemon with another.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/mig/testing.h"
#include "base/fs.h"

namespace tranche::agent::mig_mps_test {
namespace {

using mig_testing::MigNode;
using Phase = mig::Journal::Phase;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kLayouts = R"(version: v1
mig-configs:
  first:
    - devices: [0]
      mig-enabled: true
      mig-devices: {"1g.10gb": 7}
  none:
    - devices: all
      mig-enabled: false
)";

struct Shared : MigNode {
  explicit Shared(const char* model = "a100-80gb") : MigNode(model) {
    config.flags.mig_strategy = config::MigStrategy::kNone;
    config.sharing.mps =
        config::ReplicatedResources{.fail_requests_greater_than_one = true,
                                    .resources = {{.name = {kGpu}, .rename = {}, .replicas = 2}}};
    mps[{kGpu}] = {.has_served = true};
    config_file = (dir.path() / "layouts.yaml").string();
    EXPECT_TRUE(FsRoot().write_atomic(config_file, kLayouts));
    start();
  }
  std::vector<std::string> offered() {
    std::vector<std::string> ids(kubelet.listed[kGpu].begin(), kubelet.listed[kGpu].end());
    return ids;
  }
};

TEST(MigNeighboursMps, WhatSharesADaemonIsWithheldAndItsPodIsNamedWithTheReason) {
  Shared node;
  node.controller = [](MigNode& self) {
    const auto change = self.change();
    if (change) self.answer({.id = change->id, .cordoned = true});
  };
  node.settings.controller = true;
  node.start();
  node.hold("on-0", "GPU-0::0");
  node.hold("on-1", "GPU-1::1");
  node.wish("first");
  ASSERT_TRUE(node.reach(Phase::kDraining));
  node.turn();
  EXPECT_THAT(node.offered(), IsEmpty());
  const auto change = node.change();
  ASSERT_TRUE(change);
  EXPECT_THAT(change->pods, SizeIs(2));
  EXPECT_THAT(change->why, ElementsAre(testing::Pair(
                               cluster::ObjectKey{"default", "on-1"},
                               "shares the MPS control daemon of nvidia.com/gpu with GPU 0")));
  node.kubelet.held.erase(node.kubelet.held.begin());
  node.turn();
  node.turn();
  EXPECT_EQ(node.now_in(), Phase::kDraining) << "a Pod on a neighbour holds the change up";
  node.kubelet.held.clear();
  ASSERT_TRUE(node.reach(Phase::kVerifying));
  ASSERT_THAT(node.asked, SizeIs(1));
  EXPECT_THAT(node.asked[0].gpus, ElementsAre("GPU-0", "GPU-1"));
  EXPECT_TRUE(node.asked[0].reset);
}

// A Pod with a claim's share of the other GPU is given the reason, too.
TEST(MigNeighboursMps, ThePodOfAClaimIsNamedWithTheReason) {
  Shared node;
  node.controller = [](MigNode& self) {
    const auto change = self.change();
    if (change) self.answer({.id = change->id, .cordoned = true});
  };
  node.settings.controller = true;
  node.start();
  node.set_claims({{"GPU-1", {"team", "half"}}});
  node.pods = {{.ns = "team",
                .name = "pod-of-half",
                .containers = {{.name = "main", .claims = {{.claim = "gpu"}}}},
                .claims = {{.name = "gpu", .object = "half"}}}};
  node.wish("first");
  ASSERT_TRUE(node.reach(Phase::kDraining));
  node.turn();
  ASSERT_TRUE(node.change());
  EXPECT_THAT(
      node.change()->why,
      ElementsAre(testing::Pair(cluster::ObjectKey{"team", "pod-of-half"},
                                "shares the MPS control daemon of nvidia.com/gpu with GPU 0")));
}

TEST(MigNeighboursMps, ADaemonThatDoesNotServeAgainHoldsTheEndUpAndIsNamed) {
  Shared node("h100-80gb");
  node.wish("first");
  ASSERT_TRUE(node.reach(Phase::kVerifying));
  ASSERT_THAT(node.asked, SizeIs(1));
  EXPECT_FALSE(node.asked[0].reset);
  node.mps[{kGpu}].trouble = "its MPS control daemon does not serve";
  for (int i = 0; i < 40; ++i) {
    node.turn();
    node.clock.advance(std::chrono::seconds(1));
  }
  EXPECT_EQ(node.now_in(), Phase::kVerifying) << "a supervisor may come back";
  node.clock.advance(std::chrono::minutes(10));
  EXPECT_EQ(node.settle(), "failed");
  EXPECT_THAT(
      node.reported->message,
      HasSubstr("nvidia.com/gpu is not served by MPS again: its MPS control daemon does not"));
  EXPECT_EQ(node.summary(0), "MIG off");
}

TEST(MigNeighboursMps, TheRestIsOfferedWhenTheDaemonServesAgain) {
  Shared node;
  node.wish("first");
  ASSERT_TRUE(node.reach(Phase::kVerifying));
  node.mps[{kGpu}].trouble = "its MPS control daemon does not serve";
  node.turn();
  node.turn();
  EXPECT_EQ(node.now_in(), Phase::kVerifying);
  node.mps[{kGpu}].trouble = "";
  EXPECT_EQ(node.settle(), "success");
  EXPECT_THAT(node.offered(), ElementsAre("GPU-1::0", "GPU-1::1"));
}

TEST(MigNeighboursMps, ASupervisorThatDoesNotReleaseTheGpusIsNamedAndNothingIsChanged) {
  Shared node;
  node.quiet_trouble = "the supervisor does not let go";
  node.wish("first");
  EXPECT_EQ(node.settle(), "failed");
  EXPECT_THAT(node.reported->message, HasSubstr("the supervisor does not let go"));
  node.turn();
  EXPECT_THAT(node.offered(), SizeIs(4));
}

TEST(MigNeighboursMps, APodThatStaysIsNamedWithTheReason) {
  Shared node;
  node.hold("on-1", "GPU-1::1");
  node.wish("first");
  EXPECT_EQ(node.settle(), "failed");
  EXPECT_THAT(node.reported->message, HasSubstr("default/on-1"));
  EXPECT_THAT(node.reported->message, HasSubstr("all of nvidia.com/gpu leaves service"));
  EXPECT_THAT(node.asked, IsEmpty());
}

TEST(MigNeighboursMps, AnAgentThatComesBackKnowsWhatSharesADaemon) {
  Shared node;
  node.hold("on-1", "GPU-1::1");
  node.controller = [](MigNode& self) {
    const auto change = self.change();
    if (change) self.answer({.id = change->id, .cordoned = true});
  };
  node.settings.controller = true;
  node.start();
  node.wish("first");
  ASSERT_TRUE(node.reach(Phase::kDraining));
  node.start();
  node.turn();
  node.turn();
  EXPECT_EQ(node.now_in(), Phase::kDraining);
  EXPECT_THAT(node.offered(), IsEmpty());
}

}  // namespace
}  // namespace tranche::agent::mig_mps_test
