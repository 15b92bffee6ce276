#include "mig/waiting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/formats/mig_change.h"

namespace tranche::mig::waiting_test {
namespace {

using cluster::Node;
using cluster::SnapshotPod;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kSmall = "nvidia.com/mig-1g.10gb";
constexpr const char* kLarge = "nvidia.com/mig-3g.40gb";

Node node(const std::string& name, const cluster::StringMap& allocatable) {
  return {.name = name,
          .labels = {{"kubernetes.io/hostname", name}, {"nvidia.com/mig.capable", "true"}},
          .allocatable = allocatable};
}

SnapshotPod pod(const std::string& resource, std::int64_t amount) {
  return {.pod = {.ns = "shop",
                  .name = "train",
                  .phase = "Pending",
                  .unschedulable = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
                  .containers = {{.name = "main", .requests = {{resource, amount}}}}}};
}

TEST(Waiting, AWholeGpuThatIsInInstances) {
  auto one = node("gpu-1", {{kSmall, "8"}, {kLarge, "4"}, {kGpu, "0"}, {"cpu", "32"}});
  one.labels["nvidia.com/mig.config"] = "all-balanced";
  EXPECT_EQ(explain_waiting(pod(kGpu, 4), {one}),
            "no node that takes this Pod has nvidia.com/gpu: 4, for GPUs there have another MIG "
            "layout. Ask for what they offer, or give a node a layout that has it (tranche layout "
            "apply --node gpu-1 -c LAYOUT): gpu-1 (MIG layout all-balanced) offers "
            "nvidia.com/mig-1g.10gb: 8, nvidia.com/mig-3g.40gb: 4");
}

TEST(Waiting, MigIsTheReasonOrNotKnownToBe) {
  const auto small = node("gpu-1", {{kSmall, "28"}});
  auto changing = small;
  changing.labels[cluster::kMigChangeLabel] = "open";
  auto tainted = small;
  tainted.taints = {{"team", "b", "NoSchedule"}};
  auto cordoned = small;
  cordoned.unschedulable = true;
  cordoned.taints = {{"node.kubernetes.io/unschedulable", "", "NoSchedule"}};
  const auto mixed = node("gpu-1", {{kSmall, "21"}, {kGpu, "1"}});
  const auto whole = node("gpu-2", {{kGpu, "4"}});
  auto t4 = node("t4", {{kGpu, "4"}});
  t4.labels["nvidia.com/mig.capable"] = "false";
  auto bound = pod(kGpu, 1);
  bound.pod.node = "gpu-1";
  auto not_tried = pod(kGpu, 1);
  not_tried.pod.unschedulable.clear();
  auto ending = pod(kGpu, 1);
  ending.pod.deleting = true;
  auto elsewhere = pod(kGpu, 1);
  elsewhere.pod.node_selector = {{"kubernetes.io/hostname", "gpu-2"}};
  auto here = pod(kGpu, 1);
  here.affinity = R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
                  R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname",)"
                  R"("operator":"In","values":["gpu-1"]}]}]}}})";
  const struct {
    const char* name;
    SnapshotPod pod;
    std::vector<Node> nodes;
    bool told;
  } cases[] = {
      {"all in instances", pod(kGpu, 1), {small}, true},
      {"replicas, which no layout makes", pod("nvidia.com/gpu.shared", 1), {small}, false},
      {"replicas of instances", pod("nvidia.com/mig-3g.20gb.shared", 1), {small}, false},
      {"fewer whole GPUs than asked for", pod(kGpu, 4), {mixed}, true},
      {"an instance that the layout lacks", pod(kLarge, 1), {small}, true},
      {"an instance where all GPUs are whole", pod(kLarge, 1), {whole}, true},
      {"an instance where MIG is not to be had", pod(kLarge, 1), {t4}, false},
      {"cordoned", pod(kGpu, 1), {cordoned}, true},
      {"enough, but held by others", pod(kGpu, 1), {mixed}, false},
      {"enough on another node", pod(kGpu, 4), {small, whole}, false},
      {"the other node does not take it", here, {small, whole}, true},
      {"this node does not take it", elsewhere, {small, whole}, false},
      {"no node takes it", pod(kGpu, 1), {tainted}, false},
      {"the layout is being changed", pod(kGpu, 1), {changing}, false},
      {"no instances anywhere", pod(kGpu, 8), {whole}, false},
      {"no GPUs anywhere", pod(kGpu, 1), {node("cpu-1", {{"cpu", "8"}})}, false},
      {"no nodes", pod(kGpu, 1), {}, false},
      {"not a GPU", pod("example.com/fpga", 1), {small}, false},
      {"none of it", pod(kGpu, 0), {small}, false},
      {"bound", bound, {small}, false},
      {"the scheduler has not tried", not_tried, {small}, false},
      {"ending", ending, {small}, false},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(explain_waiting(one.pod, one.nodes).has_value(), one.told) << one.name;
  }
}

TEST(Waiting, ManyNodes) {
  std::vector<Node> nodes;
  for (int i = 1; i <= 5; ++i) {
    nodes.push_back(node("gpu-" + std::to_string(i), {{kSmall, "28"}}));
  }
  EXPECT_THAT(*explain_waiting(pod(kGpu, 1), nodes),
              AllOf(HasSubstr("gpu-3 offers nvidia.com/mig-1g.10gb: 28; and 2 more nodes"),
                    Not(HasSubstr("gpu-4"))));
}

TEST(Waiting, ANodeThatOffersNothingNow) {
  const auto none = node("gpu-1", {{kGpu, "0"}});
  EXPECT_THAT(*explain_waiting(pod(kSmall, 1), {none}), HasSubstr("gpu-1 offers none"));
}

}  // namespace
}  // namespace tranche::mig::waiting_test
