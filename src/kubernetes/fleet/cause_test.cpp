#include "fleet/cause.h"

#include <gtest/gtest.h>

#include "fleet/testing.h"

namespace tranche::fleet::cause_test {
namespace {

using namespace testing_facts;

constexpr const char* kGpu = "nvidia.com/gpu";

// Two nodes with GPUs, "full" and "free", as told by `left`.
class CauseTest : public ::testing::Test {
 protected:
  CauseTest() {
    add(facts_, node("full", {{kGpu, {1, 1}}}));
    add(facts_, node("free", {{kGpu, {1, 1}}}));
  }
  Cause cause(const PodFacts& pod, bool has_room = true) {
    Rooms rooms;
    rooms[kGpu] = {{&facts_.nodes["free"], has_room ? 1U : 0U, !facts_.nodes["free"].cordoned},
                   {&facts_.nodes["full"], 0, true}};
    return explain(facts_, rooms, pod).cause;
  }
  Cause cause_of(const std::string& message, bool has_room = true) {
    return cause(unscheduled("p", kGpu, message), has_room);
  }

  Facts facts_;
};

TEST_F(CauseTest, NobodyHasIt) {
  EXPECT_EQ(cause(unscheduled("p", "nvidia.com/mig-1g.5gb",
                              "0/2 nodes are available: 2 "
                              "Insufficient nvidia.com/mig-1g.5gb.")),
            Cause::kNoSuchResource);
}

TEST_F(CauseTest, TheControlPlanesTaintIsNotTheCauseWhereGpusAreFull) {
  EXPECT_EQ(cause_of("0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient "
                     "nvidia.com/gpu. preemption: 0/3 nodes are available: 3 Preemption is not "
                     "helpful for scheduling.",
                     false),
            Cause::kNotEnough);
}

TEST_F(CauseTest, ATaintWhereThereIsRoom) {
  const auto message =
      "0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient "
      "nvidia.com/gpu, 1 node(s) had untolerated taint(s).";
  facts_.nodes["free"].taints = {{"team", "a", "NoSchedule"}};
  EXPECT_EQ(cause_of(message), Cause::kTaint);
  auto tolerant = unscheduled("p", kGpu, message);
  tolerant.tolerations = {{"team", "Equal", "a", "NoSchedule"}};
  EXPECT_EQ(cause(tolerant), Cause::kOtherResource);
  tolerant.tolerations = {{"", "Exists", "", ""}};
  EXPECT_EQ(cause(tolerant), Cause::kOtherResource);
  tolerant.tolerations = {{"team", "Equal", "b", ""}};
  EXPECT_EQ(cause(tolerant), Cause::kTaint);
}

TEST_F(CauseTest, ASelectorWhereThereIsRoom) {
  auto choosy = unscheduled("p", kGpu,
                            "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) "
                            "didn't match Pod's node affinity/selector.");
  choosy.node_selector = {{"zone", "b"}};
  EXPECT_EQ(cause(choosy), Cause::kAffinity);
}

TEST_F(CauseTest, ACordonedNodeThatHasRoom) {
  facts_.nodes["free"].cordoned = true;
  EXPECT_EQ(cause_of("0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) were "
                     "unschedulable."),
            Cause::kTaint);
}

// The texts of Kubernetes 1.35 to 1.37, where a node has room, so that the message decides.
TEST_F(CauseTest, WordsOfTheScheduler) {
  const struct {
    const char* text;
    Cause cause;
  } cases[] = {
      {"1 Insufficient cpu, 1 Insufficient nvidia.com/gpu", Cause::kOtherResource},
      {"1 Insufficient memory", Cause::kOtherResource},
      {"1 Too many pods", Cause::kOtherResource},
      {"1 node(s) didn't have free ports for the requested pod ports", Cause::kOtherResource},
      {"1 node(s) didn't match PersistentVolume's node affinity", Cause::kOtherResource},
      {"1 node(s) had no available volume zone", Cause::kOtherResource},
      {"1 node(s) didn't find available persistent volumes to bind", Cause::kOtherResource},
      {"1 node(s) didn't match pod topology spread constraints", Cause::kAffinity},
      {"1 node(s) didn't match pod anti-affinity rules", Cause::kAffinity},
      {"1 node(s) had untolerated taint(s)", Cause::kTaint},
      {"1 node(s) had untolerated taint {a: b}", Cause::kTaint},
      {"2 Insufficient nvidia.com/gpu", Cause::kNotEnough},
      {"team-a quota has reached the allowable limit of GPUs", Cause::kQuota},
      {"something new", Cause::kUnknown},
      {"", Cause::kUnknown},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(cause_of(std::string("0/2 nodes are available: ") + text +
                       ". preemption: 0/2 nodes "
                       "are available: 2 No preemption victims found for incoming pod."),
              expected)
        << text;
  }
}

TEST_F(CauseTest, WordsAboutClaims) {
  for (const auto* const text :
       {"0/2 nodes are available: 2 cannot allocate all claims. still not schedulable",
        "request gpu: device class gpux does not exist",
        "0/2 nodes are available: 2 resourceclaim not available on the node.",
        "claim team/c: selector #0: CEL runtime error: no such key: model",
        "resource claim team/c is in the process of being allocated",
        "0/2 nodes are available: 2 invalid resource pools were encountered.",
        "timed out trying to allocate devices"}) {
    auto claiming = unscheduled("p", kGpu, text);
    claiming.wants.clear();
    claiming.claims = {"c"};
    facts_.claims[{"team", "c"}] = {};
    EXPECT_EQ(cause(claiming), Cause::kClaim) << text;
  }
  EXPECT_EQ(cause_in("0/1 nodes are available: 1 cannot schedule extended resource claim."),
            Cause::kNotEnough);
}

// The scheduler writes nothing about a Pod whose claim is not there.
TEST_F(CauseTest, AClaimThatIsNotThere) {
  PodFacts silent{.key = {"team", "p"}, .phase = "Pending", .claims = {""}};
  EXPECT_EQ(cause(silent), Cause::kClaim);
  silent.claims = {"gone"};
  EXPECT_EQ(cause(silent), Cause::kClaim);
  facts_.claims[{"team", "gone"}] = {};
  EXPECT_EQ(cause(silent), Cause::kUnknown);
}

TEST_F(CauseTest, WhatIsNotTheScheduler) {
  auto held = pod("p", kGpu);
  held.gates = {"kueue.x-k8s.io/admission", "b"};
  EXPECT_EQ(explain(facts_, {}, held).message, "scheduling gates: kueue.x-k8s.io/admission, b");
  EXPECT_EQ(cause(held), Cause::kGate);
  auto starting = pod("p", kGpu, "full");
  starting.phase = "Pending";
  starting.starting = "ImagePullBackOff: no such image";
  EXPECT_EQ(cause(starting), Cause::kStarting);
  EXPECT_EQ(cause(pod("p", kGpu)), Cause::kUnknown);
}

TEST(Rejection, OnlyKubeletsRefusals) {
  auto one = testing_facts::pod("p", kGpu, "n");
  one.phase = "Failed";
  EXPECT_FALSE(explain_rejection(one)) << "its program failed";
  const struct {
    const char* reason;
    const char* message;
    std::optional<Cause> cause;
  } cases[] = {
      {"TopologyAffinityError",
       "Pod was rejected: Resources cannot be allocated with Topology locality", Cause::kTopology},
      {"UnexpectedAdmissionError",
       "Pod was rejected: Allocate failed due to requested number of devices unavailable for "
       "nvidia.com/gpu. Requested: 1, Available: 0, which is unexpected",
       Cause::kAdmission},
      {"OutOfnvidia.com/gpu", "Pod was rejected: Node didn't have enough resource: nvidia.com/gpu",
       Cause::kAdmission},
      {"TaintToleration",
       "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
       Cause::kAdmission},
      {"Evicted", "The node was low on resource: memory.", std::nullopt},
      {"NodeLost", "", std::nullopt},
  };
  for (const auto& [reason, message, cause] : cases) {
    one.reason = reason;
    one.message = message;
    const auto explained = explain_rejection(one);
    EXPECT_EQ(explained ? std::optional(explained->cause) : std::nullopt, cause) << reason;
  }
}

TEST(Shown, HugeAndHostileMessagesAreCut) {
  EXPECT_EQ(shown("a\nb\x1b[31m\x7f"), "a b [31m ");
  EXPECT_EQ(shown(std::string(1 << 20, 'x')).size(), 1024U);
  EXPECT_EQ(shown(std::string(1023, 'x') + "\xC3\xA9").size(), 1023U) << "no half character";
  // In bounded time.
  std::string many = "0/9 nodes are available: ";
  for (int i = 0; i < 200'000; ++i) many += "1 no, ";
  EXPECT_EQ(cause_in(many), Cause::kUnknown);
}

}  // namespace
}  // namespace tranche::fleet::cause_test
