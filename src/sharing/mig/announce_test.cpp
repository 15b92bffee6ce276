#include "mig/announce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::mig::announce_test {
namespace {

using cluster::MigChange;
using cluster::Node;
using cluster::SnapshotPod;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Fate = EndingPod::Fate;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kSmall = "nvidia.com/mig-1g.10gb";

Node node(const std::string& name, const cluster::StringMap& allocatable) {
  return {.name = name,
          .labels = {{"kubernetes.io/hostname", name}},
          .allocatable = allocatable,
          .conditions = {{"Ready", "True", "", ""}}};
}

// A Pod of a Deployment.
SnapshotPod pod(const std::string& name, const std::string& on, const std::string& resource = kGpu,
                std::int64_t amount = 1) {
  return {.pod = {.ns = "shop",
                  .name = name,
                  .owners = {{"apps/v1", "ReplicaSet", "web", "u", true}},
                  .node = on,
                  .phase = on.empty() ? "Pending" : "Running",
                  .containers = {{.name = "main", .requests = {{resource, amount}}}}}};
}

// gpu-1 goes from 4 whole GPUs to 28 instances; shop/a holds one of the GPUs.
MigChange change() {
  return {.id = "c-1",
          .layout = "all-1g.10gb",
          .before = {{kGpu, 4}},
          .after = {{kGpu, 0}, {kSmall, 28}},
          .pods = {{"shop", "a"}}};
}

TEST(Announce, ListsLeavingAndNewDevices) {
  const auto told = announce(change(), "gpu-1", {node("gpu-1", {{kGpu, "4"}})}, {});
  EXPECT_THAT(told.resources,
              ElementsAre(ResourceChange{kGpu, 4, 0}, ResourceChange{kSmall, 0, 28}));
  EXPECT_THAT(told.pods, IsEmpty());
}

TEST(Announce, AnOutageIsAResourceWithoutAnotherNode) {
  auto down = node("gpu-2", {{kGpu, "4"}});
  down.conditions[0].status = "Unknown";
  auto cordoned = node("gpu-2", {{kGpu, "4"}});
  cordoned.unschedulable = true;
  auto partial = change();
  partial.after[kGpu] = 1;
  const struct {
    const char* name;
    MigChange change;
    std::vector<Node> others;
    std::vector<std::string> outages;
  } cases[] = {
      {"the only node", change(), {}, {kGpu}},
      {"another offers it", change(), {node("gpu-2", {{kGpu, "1"}})}, {}},
      {"another has none", change(), {node("gpu-2", {{kGpu, "0"}})}, {kGpu}},
      {"another is not Ready", change(), {down}, {kGpu}},
      {"another is cordoned", change(), {cordoned}, {kGpu}},
      {"another offers something else", change(), {node("gpu-2", {{kSmall, "7"}})}, {kGpu}},
      {"some of it stays", partial, {}, {}},
      {"what enters service is none", {.id = "c", .after = {{kSmall, 7}}}, {}, {}},
  };
  for (const auto& one : cases) {
    auto nodes = one.others;
    nodes.push_back(node("gpu-1", {{kGpu, "4"}}));
    EXPECT_EQ(announce(one.change, "gpu-1", nodes, {}).outages, one.outages) << one.name;
  }
}

TEST(Announce, WhereAPodThatEndsFindsPlace) {
  const auto two = node("gpu-2", {{kGpu, "2"}});
  auto tainted = two;
  tainted.taints = {{"team", "x", "NoSchedule"}};
  auto preferred = two;
  preferred.taints = {{"team", "x", "PreferNoSchedule"}};
  auto cordoned = two;
  cordoned.unschedulable = true;
  auto tolerant = pod("a", "gpu-1");
  tolerant.tolerations = {{.key = "team", .op = "Exists", .value = "", .effect = ""}};
  auto other_value = pod("a", "gpu-1");
  other_value.tolerations = {{.key = "team", .op = "Equal", .value = "y", .effect = "NoSchedule"}};
  auto selective = pod("a", "gpu-1");
  selective.pod.node_selector = {{"kubernetes.io/hostname", "gpu-1"}};
  auto bound = pod("a", "gpu-1");
  bound.affinity = R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
                   R"({"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name",)"
                   R"("operator":"In","values":["gpu-1"]}]}]}}})";
  auto bare = pod("a", "gpu-1");
  bare.pod.owners.clear();
  auto daemon = pod("a", "gpu-1");
  daemon.pod.owners[0].kind = "DaemonSet";
  auto fixed = pod("a", "gpu-1");
  fixed.pod.annotations = {{"kubernetes.io/config.mirror", "x"}};
  auto ended = pod("ended", "gpu-2", kGpu, 2);
  ended.pod.phase = "Succeeded";
  const struct {
    const char* name;
    SnapshotPod pod;
    Node other;
    std::vector<SnapshotPod> more;
    Fate fate;
  } cases[] = {
      {"room elsewhere", pod("a", "gpu-1"), two, {}, Fate::kMoves},
      {"the rest is taken", pod("a", "gpu-1"), two, {pod("b", "gpu-2", kGpu, 2)}, Fate::kPends},
      {"one that has ended takes none", pod("a", "gpu-1"), two, {ended}, Fate::kMoves},
      {"it asks for more", pod("a", "gpu-1", kGpu, 3), two, {}, Fate::kPends},
      {"cordoned", pod("a", "gpu-1"), cordoned, {}, Fate::kPends},
      {"a taint", pod("a", "gpu-1"), tainted, {}, Fate::kPends},
      {"a taint that it tolerates", tolerant, tainted, {}, Fate::kMoves},
      {"a taint of another value", other_value, tainted, {}, Fate::kPends},
      {"a taint that is a wish", pod("a", "gpu-1"), preferred, {}, Fate::kMoves},
      {"its selector", selective, two, {}, Fate::kPends},
      {"its affinity to nodes", bound, two, {}, Fate::kPends},
      {"what enters service here", pod("a", "gpu-1", kSmall), two, {}, Fate::kReturns},
      {"more than enters service here", pod("a", "gpu-1", kSmall, 29), two, {}, Fate::kPends},
      {"a Pod without a controller", bare, two, {}, Fate::kGone},
      {"a DaemonSet's", daemon, two, {}, Fate::kPends},
      {"a static Pod", fixed, two, {}, Fate::kStays},
  };
  for (const auto& one : cases) {
    auto pods = one.more;
    pods.push_back(one.pod);
    const auto told = announce(change(), "gpu-1", {node("gpu-1", {{kGpu, "4"}}), one.other}, pods);
    ASSERT_EQ(told.pods.size(), 1U) << one.name;
    EXPECT_EQ(told.pods[0].fate, one.fate) << one.name;
    EXPECT_EQ(told.pods[0].node, one.fate == Fate::kMoves ? "gpu-2" : "") << one.name;
  }
}

TEST(Announce, TheChangesCordonDoesNotPreventReturning) {
  auto here = node("gpu-1", {{kGpu, "4"}});
  here.unschedulable = true;
  here.taints = {{"node.kubernetes.io/unschedulable", "", "NoSchedule"}};
  const auto told = announce(change(), "gpu-1", {here}, {pod("a", "gpu-1", kSmall)});
  ASSERT_EQ(told.pods.size(), 1U);
  EXPECT_EQ(told.pods[0].fate, Fate::kReturns);
}

TEST(Announce, APlaceIsGivenOnceAndTheMoreImportantPodFirst) {
  auto asked = change();
  asked.pods = {{"shop", "a"}, {"shop", "b"}};
  auto important = pod("b", "gpu-1");
  important.priority = 10;
  const auto told =
      announce(asked, "gpu-1", {node("gpu-1", {{kGpu, "4"}}), node("gpu-2", {{kGpu, "1"}})},
               {pod("a", "gpu-1"), important});
  ASSERT_EQ(told.pods.size(), 2U);
  EXPECT_EQ(told.pods[0].name, "shop/b");
  EXPECT_EQ(told.pods[0].fate, Fate::kMoves);
  EXPECT_EQ(told.pods[1].fate, Fate::kPends);
  EXPECT_THAT(find_no_place(told), ElementsAre("shop/a (nvidia.com/gpu: 1)"));
}

TEST(Announce, APodThatHoldsNothingThatChangesHasItsReason) {
  auto asked = change();
  asked.why[asked.pods.front()] = "shares the MPS control daemon of nvidia.com/gpu with GPU 0";
  const auto told = announce(asked, "gpu-1", {node("gpu-1", {{kGpu, "4"}})}, {pod("a", "gpu-1")});
  EXPECT_THAT(summary(told), testing::HasSubstr("; shares the MPS control daemon of nvidia.com/gpu "
                                                "with GPU 0)"));
  EXPECT_THAT(describe(told), testing::HasSubstr("shares the MPS control daemon"));
}

TEST(Announce, StayingPodsKeepTheirPlace) {
  auto asked = change();
  asked.after = {{kGpu, 1}};
  asked.before = {{kGpu, 2}};
  const auto told = announce(asked, "gpu-1", {node("gpu-1", {{kGpu, "2"}})},
                             {pod("a", "gpu-1"), pod("stays", "gpu-1")});
  ASSERT_EQ(told.pods.size(), 1U);
  EXPECT_EQ(told.pods[0].fate, Fate::kPends);
}

TEST(Announce, ANameFromTheNodeIsNotBelievedWhereThePodIsElsewhere) {
  const auto told =
      announce(change(), "gpu-1", {node("gpu-1", {{kGpu, "4"}})}, {pod("a", "gpu-2")});
  EXPECT_THAT(told.pods, IsEmpty());
}

TEST(Announce, PodsThatWaitAlready) {
  const auto told = announce(change(), "gpu-1", {node("gpu-1", {{kGpu, "4"}})},
                             {pod("x", ""), pod("y", "", kSmall), pod("z", "", "example.com/x")});
  EXPECT_THAT(told.waiting,
              ElementsAre(WaitingPod{"shop/x", kGpu, false}, WaitingPod{"shop/y", kSmall, true}));
}

TEST(Announce, ANodeMayStillOfferRemovedDevices) {
  auto undone = change();
  undone.failed = true;
  const struct {
    const char* name;
    MigChange change;
    cluster::StringMap allocatable;
    bool wanted;
  } cases[] = {
      {"kubelet has told nothing yet", change(), {{kGpu, "4"}}, true},
      {"kubelet has told", change(), {{kGpu, "0"}, {kSmall, "28"}}, false},
      {"what comes is not there yet", change(), {{kGpu, "0"}}, false},
      {"one of what comes is unhealthy", change(), {{kGpu, "0"}, {kSmall, "27"}}, false},
      {"another resource", change(), {{kGpu, "0"}, {"pods", "110"}}, false},
      {"undone, and kubelet has told", undone, {{kGpu, "4"}, {kSmall, "0"}}, false},
      {"undone, and kubelet told of the new layout", undone, {{kSmall, "28"}}, true},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(offers_what_left(one.change, node("gpu-1", one.allocatable)), one.wanted) << one.name;
  }
}

TEST(Announce, IsReadByPeople) {
  const auto told = announce(change(), "gpu-1", {node("gpu-1", {{kGpu, "4"}})},
                             {pod("a", "gpu-1"), pod("x", "")});
  EXPECT_EQ(summary(told),
            "MIG layout all-1g.10gb on gpu-1: nvidia.com/gpu 4 -> 0, nvidia.com/mig-1g.10gb 0 -> "
            "28; no other node offers nvidia.com/gpu; Pods that end: shop/a (finds no place); Pods "
            "that wait for what leaves: 1");
  EXPECT_EQ(describe(told),
            "MIG layout all-1g.10gb on gpu-1\n"
            "  resources       nvidia.com/gpu: 4 -> 0\n"
            "                  nvidia.com/mig-1g.10gb: 0 -> 28\n"
            "  Pods that end   shop/a (nvidia.com/gpu: 1): finds no place\n"
            "  Pods that wait  shop/x: nvidia.com/gpu leaves service\n"
            "  outage          nvidia.com/gpu: no other node that takes Pods offers it\n"
            "  not looked at   cpu, memory, affinity to Pods, topology spread, quotas, resource "
            "claims\n");
}

TEST(Announce, ALongSummaryFitsIntoAnEvent) {
  MigChange much{.id = "c", .layout = std::string(63, 'l')};
  std::vector<SnapshotPod> pods;
  for (int i = 0; i < 200; ++i) {
    const auto name = std::to_string(i) + std::string(200, 'p');
    much.before["nvidia.com/mig-" + std::to_string(i) + std::string(50, 'x')] = 1;
    much.pods.push_back({"shop", name});
    pods.push_back(pod(name, "gpu-1"));
  }
  const auto text = summary(announce(much, "gpu-1", {node("gpu-1", {})}, pods));
  EXPECT_LE(text.size(), 1000U);
  EXPECT_THAT(text, HasSubstr("and 194 more"));
  EXPECT_THAT(text, Not(HasSubstr("\n")));
}

TEST(Announce, SaysThatNoResourceChanges) {
  const auto told = announce(
      {.id = "c", .layout = "same", .before = {{kGpu, 4}}, .after = {{kGpu, 4}}}, "gpu-1", {}, {});
  EXPECT_EQ(summary(told), "MIG layout same on gpu-1: no resource changes");
}

}  // namespace
}  // namespace tranche::mig::announce_test
