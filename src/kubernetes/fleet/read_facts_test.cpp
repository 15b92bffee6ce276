#include "fleet/read_facts.h"

#include <gtest/gtest.h>

#include "fleet/make_fleet.h"

namespace tranche::fleet::read_facts_test {
namespace {

constexpr const char* kPod = R"({"metadata":{"namespace":"team","name":"p","uid":"u",
  "creationTimestamp":"2026-01-02T03:04:05Z","managedFields":[{"manager":"x"}]},
  "spec":{"nodeName":"n","nodeSelector":{"zone":"a"},"priorityClassName":"high",
    "schedulingGates":[{"name":"g"}],
    "tolerations":[{"key":"k","operator":"Equal","value":"v","effect":"NoSchedule"}],
    "resourceClaims":[{"name":"c","resourceClaimName":"claim"},
                      {"name":"d","resourceClaimTemplateName":"t"}],
    "initContainers":[{"name":"i","resources":{"limits":{"nvidia.com/gpu":"3"}}}],
    "containers":[{"name":"a","env":[{"name":"SECRET","value":"s3cret"}],
      "resources":{"limits":{"nvidia.com/gpu":"1","cpu":"4"}}},
      {"name":"b","resources":{"limits":{"nvidia.com/gpu":"1","example.com/nic":"1"}}}]},
  "status":{"phase":"Pending","reason":"R","message":"M",
    "conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"no"}],
    "containerStatuses":[{"name":"a","state":{"waiting":{"reason":"ImagePullBackOff",
                                                        "message":"not there"}}}]}})";

TEST(ReadPod, WhatIsRead) {
  const auto pod = read_pod(kPod);
  ASSERT_TRUE(pod) << pod.error().message();
  ASSERT_TRUE(*pod);
  const auto& facts = **pod;
  EXPECT_EQ(facts.key, (cluster::ObjectKey{"team", "p"}));
  EXPECT_EQ(facts.wants, (std::map<std::string, std::uint64_t>{{"nvidia.com/gpu", 3}}));
  EXPECT_EQ(facts.claims, (std::vector<std::string>{"claim", ""}));
  EXPECT_EQ(facts.gates, (std::vector<std::string>{"g"}));
  EXPECT_EQ(facts.unscheduled_reason, "Unschedulable");
  EXPECT_EQ(facts.starting, "ImagePullBackOff: not there");
  EXPECT_EQ(cluster::whole_second_time(facts.created), "2026-01-02T03:04:05Z");
}

TEST(ReadPod, WhatIsKeptReadsTheSame) {
  const auto kept = kept_of_pod(kPod);
  EXPECT_EQ(kept.find("s3cret"), std::string::npos);
  EXPECT_EQ(*read_pod(kept), *read_pod(kPod));
  EXPECT_EQ(kept_of_pod(kept), kept);
}

TEST(ReadPod, OthersAreNotKept) {
  EXPECT_EQ(kept_of_pod(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a"}]}})"), "");
  EXPECT_EQ(kept_of_pod(R"({"metadata":{"name":"p","labels":{"nvidia.com/gpu":"x"}}})"), "");
  const std::string torn = R"({"metadata":{"name":"p"},"spec":{"resourceClaims":3})";
  EXPECT_EQ(kept_of_pod(torn), torn) << "what cannot be read is not nothing";
  EXPECT_FALSE(read_pod(torn));
}

TEST(ReadPod, HugeCountsAreBounded) {
  const auto pod = read_pod(
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","resources":{"limits":
         {"nvidia.com/gpu":"1e30"}}},{"name":"b","resources":{"limits":{"nvidia.com/gpu":-3}}}]}})");
  ASSERT_TRUE(pod && *pod);
  EXPECT_EQ((*pod)->wants.at("nvidia.com/gpu"), 1'000'000'000'000U);
}

TEST(ReadPod, AClaimThatKubernetesMadeForAResourceCountsOnce) {
  const auto pod = read_pod(
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","resources":{"limits":
         {"nvidia.com/gpu":"1"}}}]},"status":{"extendedResourceClaimStatus":{"resourceClaimName":"x",
         "requestMappings":[{"containerName":"a","resourceName":"nvidia.com/gpu",
                             "requestName":"r"}]}}})");
  ASSERT_TRUE(pod && *pod);
  EXPECT_TRUE((*pod)->wants.empty());
  EXPECT_EQ((*pod)->claims, (std::vector<std::string>{"x"}));
}

TEST(ReadNode, WhatIsKeptReadsTheSame) {
  const std::string text = R"({"metadata":{"name":"n","labels":{"zone":"a"},
    "annotations":{"big":"x"}},"spec":{"unschedulable":true,
    "taints":[{"key":"k","value":"v","effect":"NoExecute"},{"key":"p","effect":"PreferNoSchedule"}]},
    "status":{"capacity":{"cpu":"8","nvidia.com/gpu":"4"},"allocatable":{"nvidia.com/gpu":"3"},
    "conditions":[{"type":"Ready","status":"Unknown"},
                  {"type":"TrancheServing","status":"False","reason":"Stopped"}]}})";
  const auto node = read_node(text);
  ASSERT_TRUE(node);
  EXPECT_EQ(*node, (NodeFacts{.name = "n",
                              .labels = {{"zone", "a"}},
                              .taints = {{"k", "v", "NoExecute"}},
                              .cordoned = true,
                              .ready = false,
                              .not_serving = "Stopped",
                              .resources = {{"nvidia.com/gpu", {4, 3}}}}));
  EXPECT_EQ(*read_node(kept_of_node(text)), *node);
  EXPECT_EQ(kept_of_node(text).find("annotations"), std::string::npos);
}

TEST(ReadClaim, DevicesByClass) {
  const std::string text = R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[
    {"name":"a","exactly":{"deviceClassName":"gpu-share","count":2}},
    {"name":"b","firstAvailable":[{"name":"x","deviceClassName":"mig.nvidia.com"},
                                  {"name":"y","deviceClassName":"gpu.nvidia.com"}]},
    {"name":"c","exactly":{"deviceClassName":"gpu-admin","adminAccess":true}},
    {"name":"d","exactly":{"deviceClassName":"gpu.nvidia.com","count":9223372036854775807}}]}}})";
  const auto claim = read_claim(text);
  ASSERT_TRUE(claim);
  EXPECT_EQ(
      claim->wants,
      (std::vector<Wish>{{"gpu-share", 2}, {"mig.nvidia.com", 1}, {"gpu.nvidia.com", 1'000'000}}));
  EXPECT_FALSE(claim->allocated);
  EXPECT_EQ(*read_claim(kept_of_claim(text)), *claim);
}

TEST(ReadClass, OursByItsSelectors) {
  const auto of = [](const std::string& expression) {
    return *read_class(R"({"metadata":{"name":"c"},"spec":{"selectors":[{"cel":{"expression":")" +
                           expression + R"("}}]}})",
                       "gpu.nvidia.com");
  };
  EXPECT_EQ(of("device.driver == 'gpu.nvidia.com' && device.attributes['x'].type == 'gpu'"),
            usage::Mechanism::kShare);
  EXPECT_EQ(of("device.driver == 'gpu.nvidia.com' && device.attributes['x'].type == 'mig'"),
            usage::Mechanism::kMig);
  EXPECT_EQ(of("device.driver == 'nic.example.com'"), std::nullopt);
}

TEST(MakeFleet, ASilentNodeHasWhatItsGpuNodeHas) {
  Facts facts;
  facts.nodes["a"] = {.name = "a", .ready = true};
  cluster::GpuNodeStatus status{.agent = "tranche 0.1.0", .driver = "570"};
  status.gpus = {{.index = 0, .uuid = "GPU-1", .model = "L20", .memory = Bytes::from_mib(46068)}};
  status.resources = {{.name = "nvidia.com/gpu",
                       .sharing = "time-slicing",
                       .tranches = 4,
                       .healthy = 4,
                       .devices = {{"GPU-1", 4}}}};
  status.holdings = {{.device = "GPU-1",
                      .gpu = "GPU-1",
                      .part = cluster::GpuNodePart{.memory = Bytes::from_mib(100)},
                      .wire = "device-plugin",
                      .resource = "nvidia.com/gpu",
                      .ns = "team",
                      .pod = "p",
                      .container = "c",
                      .use = "time-sliced",
                      .state = "in-use"}};
  status.holdings.push_back(status.holdings[0]);
  status.holdings.push_back({.device = "GPU-1",
                             .gpu = "GPU-1",
                             .wire = "none",
                             .ns = "team",
                             .pod = "stranger",
                             .use = "shared",
                             .state = "in-use"});
  facts.gpu_nodes["a"] = {.name = "a", .status = status};
  const auto fleet = make_fleet(facts, {}, {}, "nobody asked");
  ASSERT_EQ(fleet.nodes.size(), 1U);
  const auto& node = fleet.nodes[0];
  EXPECT_EQ(node.reporting, Reporting::kSilent);
  EXPECT_EQ(node.why, "nobody asked");
  EXPECT_EQ(node.closed, "");
  ASSERT_EQ(node.usage.containers.size(), 2U);
  const auto& container = node.usage.containers[0];
  EXPECT_FALSE(container.attributed);
  EXPECT_EQ(container.gpus, 0.5);
  EXPECT_EQ(container.memory_limit, 200U << 20U);
  EXPECT_EQ(container.memory_used, std::nullopt) << "unknown, not 0";
  EXPECT_EQ(node.usage.containers[1].mechanism, usage::Mechanism::kNone) << "nobody gave it";
  EXPECT_EQ(node.usage.containers[1].gpus, 0);
  EXPECT_EQ(node.usage.gpus[0].memory_total, 46068ULL << 20U);
}

TEST(MakeFleet, AnAnswerCountsWithoutItsProcesses) {
  Facts facts;
  facts.nodes["a"] = {.name = "a", .cordoned = true, .resources = {{"nvidia.com/gpu", {1, 1}}}};
  auto usage = std::make_shared<usage::NodeUsage>();
  usage->node = "a";
  usage->processes = {{.pid = 7, .device = "GPU-1"}};
  const auto fleet = make_fleet(facts, {{"a", {Reporting::kFresh, "", usage}}}, {});
  EXPECT_EQ(fleet.nodes[0].reporting, Reporting::kFresh);
  EXPECT_EQ(fleet.nodes[0].closed, "cordoned");
  EXPECT_TRUE(fleet.nodes[0].usage.processes.empty());
}

}  // namespace
}  // namespace tranche::fleet::read_facts_test
