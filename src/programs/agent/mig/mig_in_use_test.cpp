#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/mig/testing.h"

namespace tranche::agent::mig_in_use_test {
namespace {

using mig_testing::MigNode;
using testing::HasSubstr;
using Phase = mig::Journal::Phase;

constexpr const char* kDcgm = "nvidia.com/gpu.deploy.dcgm";

cluster::Pod dcgm() {
  cluster::Pod pod{.ns = "gpu-operator", .name = "nvidia-dcgm-x7f2"};
  pod.phase = "Running";
  pod.owners = {{.kind = "DaemonSet", .name = "nvidia-dcgm"}};
  pod.node_selector = {{kDcgm, "true"}};
  return pod;
}

void turns(MigNode& node, int count) {
  for (int i = 0; i < count; ++i) {
    node.turn();
    node.clock.advance(std::chrono::seconds(1));
  }
}

TEST(MigInUse, AGpuThatAProcessHasOpenIsTriedAgainUntilItEnds) {
  MigNode node("a100-80gb");
  node.control.hold(MigNode::uuid(0));
  node.users.names = {"dcgm (pid 12, Pod gpu-operator/nvidia-dcgm-x7f2)"};
  node.wish("all-1g.10gb");
  turns(node, 60);
  EXPECT_EQ(node.now_in(), Phase::kChanging) << node.log_text();
  EXPECT_THAT(node.change()->waits_for, HasSubstr("Pod gpu-operator/nvidia-dcgm-x7f2"));
  EXPECT_THAT(node.manager->remark(), HasSubstr("Pod gpu-operator/nvidia-dcgm-x7f2"));
  node.control.release(MigNode::uuid(0));
  EXPECT_EQ(node.settle(), "success") << node.log_text();
}

TEST(MigInUse, AProcessThatDoesNotEndEndsTheChangeAndIsNamed) {
  MigNode node("a100-80gb");
  node.control.hold(MigNode::uuid(0));
  node.users.names = {"dcgm (pid 12)"};
  node.wish("all-1g.10gb");
  EXPECT_EQ(node.settle(400), "failed") << node.log_text();
  EXPECT_EQ(node.reported->reason, "MigChangeFailed");
  EXPECT_THAT(node.reported->message, HasSubstr("dcgm (pid 12)"));
  EXPECT_EQ(node.summary(0), "MIG off");
  EXPECT_FALSE(node.control.state(MigNode::uuid(0)).pending) << "no mode waits for a reset";
}

TEST(MigInUse, TheLabelPutBackEndsTheWaitingAtOnce) {
  MigNode node("a100-80gb");
  node.wish("all-disabled");
  EXPECT_EQ(node.settle(), "success");
  node.control.hold(MigNode::uuid(0));
  node.wish("all-1g.10gb");
  ASSERT_TRUE(node.reach(Phase::kChanging));
  node.wish("all-disabled");
  EXPECT_EQ(node.settle(20), "success") << node.log_text();
  EXPECT_EQ(node.summary(0), "MIG off");
}

TEST(MigInUse, NvidiasClientsAreWaitedForBeforeAnythingIsTouched) {
  MigNode node("a100-80gb");
  node.node->labels[kDcgm] = "true";
  node.pods = {{dcgm()}};
  node.wish("all-1g.10gb");
  turns(node, 20);
  EXPECT_EQ(node.now_in(), Phase::kDraining);
  EXPECT_EQ(node.node->labels[kDcgm], "paused-for-mig-change");
  EXPECT_THAT(node.change()->waits_for, HasSubstr("gpu-operator/nvidia-dcgm-x7f2"));
  EXPECT_EQ(node.control.state(MigNode::uuid(0)).pending, false);
  node.pods->clear();
  EXPECT_EQ(node.settle(), "success") << node.log_text();
  EXPECT_EQ(node.node->labels[kDcgm], "true");
}

TEST(MigInUse, APodListThatIsNotReadYetIsWaitedFor) {
  MigNode node("h100-80gb");
  node.node->labels[kDcgm] = "true";
  node.pods.reset();
  node.wish("all-1g.10gb");
  turns(node, 10);
  EXPECT_EQ(node.now_in(), Phase::kDraining);
  node.pods.emplace();
  EXPECT_EQ(node.settle(), "success");
}

TEST(MigInUse, ALabelThatPlacesTheAgentItselfIsNotPaused) {
  MigNode node("h100-80gb");
  node.node->labels[kDcgm] = "true";
  cluster::Pod own{.ns = "tranche", .name = "agent"};
  own.node_selector = {{kDcgm, "true"}};
  own.owners = {{.kind = "DaemonSet", .name = "agent"}};
  node.pods = {{own}};
  node.wish("all-1g.10gb");
  EXPECT_EQ(node.settle(), "success") << node.log_text();
  EXPECT_THAT(node.log_text(), testing::Not(HasSubstr("NVIDIA's clients")));
}

}  // namespace
}  // namespace tranche::agent::mig_in_use_test
