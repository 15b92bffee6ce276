#include "cluster/snapshot/snapshot.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "cluster/snapshot/encoding.h"
#include "cluster/snapshot/parts.h"

namespace tranche::cluster::snapshot_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ResourceSlice slice() {
  return {.name = "n1-gpu.nvidia.com-x",
          .uid = "su",
          .driver = "gpu.nvidia.com",
          .node = "n1",
          .pool = {.name = "n1", .generation = 3, .slices = 1},
          .devices = {{.name = "gpu-0",
                       .attributes = {{"uuid", "GPU-1"}, {"numaNode", std::int64_t{0}}},
                       .capacity = {{"memory", {.value = 1 << 30, .policy = {}}}},
                       .shareable = true}}};
}

SnapshotClaim claim() {
  return {.claim = {.key = {"team-a", "c"},
                    .uid = "cu",
                    .resource_version = "7",
                    .allocated = true,
                    .devices = {{.request = "gpu",
                                 .driver = "gpu.nvidia.com",
                                 .pool = "n1",
                                 .device = "gpu-0",
                                 .share_id = "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a",
                                 .consumed = {{"memory", 1 << 20}},
                                 .admin_access = true}},
                    .configs = {{.from_class = true,
                                 .requests = {"gpu"},
                                 .driver = "gpu.nvidia.com",
                                 .parameters = R"({"kind":"GpuConfig"})"}},
                    .reserved_for = {{"pods", "p", "pu"}}},
          .created = "2026-01-31T11:00:00Z",
          .requests = R"([{"exactly":{"deviceClassName":"gpu"},"name":"gpu"}])",
          .constraints = R"([{"matchAttribute":"a/b"}])"};
}

GpuNode gpu_node() {
  GpuNode node{.name = "n1", .owners = {{"v1", "Node", "n1", "nu", false}}};
  node.status = GpuNodeStatus{.agent = "tranche test", .mode = NodeMode::kDevicePlugin};
  node.status->gpus = {{.index = 0,
                        .uuid = "GPU-1",
                        .model = "NVIDIA A100",
                        .memory = Bytes::from_mib(81920),
                        .mig = "enabled",
                        .instances = {{{.uuid = "MIG-1", .profile = "1g.10gb"}}}}};
  node.status->holdings = {{.device = "MIG-1",
                            .wire = "device-plugin",
                            .ns = "team-a",
                            .pod = "p",
                            .use = "whole",
                            .state = "in-use"}};
  return node;
}

// One of everything, in the order of sorted().
Snapshot whole() {
  Snapshot snapshot;
  snapshot.taken_at = *parse_time("2026-01-31T12:00:00.123456Z");
  snapshot.server = "https://10.0.0.1:6443";
  snapshot.taken_by = "tranche test";
  const NodeCondition configured{"TrancheConfigured", "True", "ConfigApplied", "key training"};
  snapshot.nodes = {{.node = {.name = "n1",
                              .uid = "nu",
                              .resource_version = "5",
                              .labels = {{"nvidia.com/gpu.product", "A100"}},
                              .annotations = {{"tranche.dev/mig-cordoned", "id"}},
                              .taints = {{"k", "v", "NoSchedule"}},
                              .unschedulable = true,
                              .capacity = {{"nvidia.com/gpu", "2"}},
                              .allocatable = {{"nvidia.com/gpu", "1"}},
                              .conditions = {{"Ready", "True", "KubeletReady", "ok"}, configured}},
                     .configuration = {{"key training", configured}}},
                    {.node = {.name = "n2"}, .configuration = std::nullopt},
                    {.node = {.name = "n3"}, .configuration = std::nullopt}};
  const SnapshotPod pod{.pod = {.ns = "team-a",
                                .name = "p",
                                .uid = "pu",
                                .resource_version = "6",
                                .labels = {{"app", "x"}},
                                .annotations = {{"tranche.dev/memory", "8Gi"}},
                                .owners = {{"batch/v1", "Job", "j", "ju", true}},
                                .deleting = true,
                                .node = "n1",
                                .node_selector = {{"pool", "a"}},
                                .scheduler = "default-scheduler",
                                .ready = true,
                                .phase = "Pending",
                                .reason = "r",
                                .message = "m",
                                .unschedulable = "0/1 nodes are available",
                                .containers = {{"side", true, true, {{"nvidia.com/gpu", 1}}},
                                               {"init", true, false, {}},
                                               {"main", false, false, {{"nvidia.com/gpu", 2}}}},
                                .priority_class = "low",
                                .claims = {{"gpu", "", "tpl"}, {"other", "c", ""}}},
                        .created = "2026-01-31T11:00:00Z",
                        .priority = -10,
                        .tolerations = {{"k", "Exists", "", "NoSchedule"}},
                        .affinity = R"({"nodeAffinity":{"x":[1]}})"};
  snapshot.pods = {pod};
  snapshot.config_maps = {{.key = {"gpu", "configs"}, .data = {{"training", "version: v1\n"}}}};
  ClusterPolicy policy;
  policy.name = "cluster-policy";
  policy.generation = 2;
  policy.device_plugin_enabled = true;
  policy.config_name = "configs";
  policy.config_default = "training";
  policy.mig_strategy = "mixed";
  policy.mps_root = "/run/nvidia/mps";
  policy.other_fields = {"driver.enabled"};
  snapshot.cluster_policies = {policy};
  GpuTier tier;
  tier.name = "shared";
  tier.mechanism = TimeSlicingTier{4};
  tier.namespaces.selector = LabelSelector();
  snapshot.tiers = {tier};
  snapshot.namespaces = {{"team-a", {{"gpu", "yes"}}}};
  snapshot.quotas = {{.key = {"team-a", "gpus"},
                      .hard = {{"requests.nvidia.com/gpu", "4"}},
                      .used = {{"requests.nvidia.com/gpu", "2"}},
                      .scopes = {"NotTerminating"},
                      .scope_expressions = {{"PriorityClass", "In", {"low"}}}}};
  snapshot.budgets = {{{"team-a", "all"}, LabelSelector(), 0},
                      {{"team-a", "none"}, std::nullopt, 0},
                      {{"team-a", "some"}, LabelSelector{{{"app", "x"}}}, 1}};
  snapshot.slices = {slice()};
  snapshot.claims = {claim()};
  snapshot.device_classes = {
      {.name = "bare"},
      {.name = "gpu", .extended_resource = "nvidia.com/gpu", .selectors = R"([{"cel":{}}])"}};
  snapshot.gpu_nodes = {gpu_node(), {.name = "n2"}};
  snapshot.gaps = {{"pods", "team-b/q", Code::kInvalidArgument, "Pod: spec is a number"}};
  return snapshot;
}

TEST(Snapshot, KeepsEverything) {
  const auto text = encode(whole());
  const auto back = decode(text);
  ASSERT_TRUE(back) << back.error().what;
  const auto expected = whole();
  EXPECT_EQ(back->taken_at, expected.taken_at);
  EXPECT_EQ(back->nodes, expected.nodes);
  EXPECT_EQ(back->pods, expected.pods);
  EXPECT_EQ(back->config_maps, expected.config_maps);
  EXPECT_EQ(back->cluster_policies, expected.cluster_policies);
  EXPECT_EQ(back->tiers, expected.tiers);
  EXPECT_EQ(back->quotas, expected.quotas);
  EXPECT_EQ(back->budgets, expected.budgets);
  EXPECT_EQ(back->slices, expected.slices);
  EXPECT_EQ(back->claims, expected.claims);
  EXPECT_EQ(back->device_classes, expected.device_classes);
  EXPECT_EQ(back->gpu_nodes, expected.gpu_nodes);
  EXPECT_EQ(*back, expected);
  EXPECT_EQ(encode(*back), text);
}

TEST(Snapshot, KeepsWhichContainersUseAClaim) {
  auto snapshot = whole();
  auto& pod = snapshot.pods.at(0).pod;
  pod.claims = {{"gpu", "p-gpu-x", "tpl"}, {"other", "c", ""}};
  pod.containers.at(2).claims = {{"gpu", "a"}, {"other"}};
  pod.extended = {"p-extended-resources-x", {{"main", "nvidia.com/gpu", "container-0-request-0"}}};
  const auto back = decode(encode(snapshot));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->pods, snapshot.pods);
}

// A snapshot/v1 file that stays readable, and that the schema is checked with
// (tests/e2e/test_schemas.py).
TEST(Snapshot, IsWrittenAsThePublishedSample) {
  std::ifstream file("tests/data/snapshot-v1.json");
  const std::string sample(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(json::parse(encode(whole())), json::parse(sample, nullptr, false));
  const auto read = decode(sample);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(*read, whole());
}

TEST(Snapshot, OrderDoesNotMatter) {
  auto other = whole();
  std::ranges::reverse(other.nodes);
  std::ranges::reverse(other.budgets);
  for (auto& node : other.nodes) {
    std::ranges::reverse(node.node.conditions);
  }
  EXPECT_NE(other, whole());
  EXPECT_EQ(encode(other), encode(whole()));
}

std::vector<std::string> gaps_of(const Snapshot& snapshot) {
  std::vector<std::string> gaps;
  for (const auto& gap : snapshot.gaps) {
    if (gap.name.empty()) gaps.push_back(fmt::format("{}: {}", gap.resource, to_string(gap.code)));
  }
  return gaps;
}

// A file of the first snapshot/v1: nobody looked for what it has no list of.
TEST(Snapshot, AnEarlyFileIsReadAndItsMissingListsAreGaps) {
  std::ifstream file("tests/data/snapshot-v1-early.json");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto read = decode(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_THAT(gaps_of(*read), ElementsAre("deviceclasses.resource.k8s.io: unsupported",
                                          "gpunodes.tranche.dev: unsupported",
                                          "resourceclaims.resource.k8s.io: unsupported",
                                          "resourceslices.resource.k8s.io: unsupported"));
  EXPECT_THAT(gap_of(*read, kResourceSlice)->message, HasSubstr("tranche test did not keep them"));
  EXPECT_EQ(read->pods.at(0).tolerations, whole().pods.at(0).tolerations);
  EXPECT_EQ(decode(encode(*read)), *read);
}

TEST(Snapshot, GpusOfAnEarlyFileAreGpusOfItsGpuNodes) {
  std::ifstream file("tests/data/snapshot-v1-early.json");
  const auto read = decode(std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->gpu_nodes.size(), 2U) << "of n3 nothing is known";
  const auto& gpus = read->gpu_nodes[0].status->gpus;
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].uuid, "GPU-1");
  EXPECT_EQ(gpus[0].mig, "enabled");
  EXPECT_EQ(gpus[0].instances->at(1).profile, "1g.10gb+me");
  EXPECT_EQ(gpus[0].instances->at(1).memory, std::nullopt);
  EXPECT_EQ(gpus[1].instances, std::nullopt);
  EXPECT_THAT(read->gpu_nodes[1].status->gpus, IsEmpty());
}

TEST(Snapshot, IndentingLeavesItValidAndEditingDoesNot) {
  auto file = json::parse(encode(whole()));
  EXPECT_EQ(decode(file.dump(2)), whole());
  file["snapshot"]["nodes"][0]["node"]["status"]["capacity"]["nvidia.com/gpu"] = "8";
  const auto edited = decode(file.dump());
  ASSERT_FALSE(edited);
  EXPECT_EQ(edited.error().code, Code::kInvalidArgument);
  EXPECT_THAT(edited.error().message(), HasSubstr("does not match its content"));
}

TEST(Snapshot, TornOrForeignTextIsRefused) {
  const auto text = encode(whole());
  const struct {
    const char* name;
    std::string text;
    const char* why;
  } cases[] = {
      {"empty", "", "snapshot: torn or not snapshot/v1: "},
      {"torn", text.substr(0, text.size() / 2), "snapshot: torn or not snapshot/v1: "},
      {"deep", std::string(100'000, '['), "snapshot: torn or not snapshot/v1: "},
      {"list", "[]", "it has no version"},
      {"null version", R"({"version":null})", "it has no version"},
      {"other version", R"({"version":"snapshot/v2"})",
       "version \"snapshot/v2\" where this release reads snapshot/v1"},
      {"no body", R"({"version":"snapshot/v1","checksum":""})", "it has no object `snapshot`"},
      {"no checksum", R"({"version":"snapshot/v1","snapshot":{}})", "it has no checksum"},
      {"number", R"({"version":"snapshot/v1","checksum":"","snapshot":{"a":1e999}})",
       "a number or a text that no program can hold"},
  };
  for (const auto& c : cases) {
    const auto snapshot = decode(c.text);
    ASSERT_FALSE(snapshot) << c.name;
    EXPECT_EQ(snapshot.error().code, Code::kInvalidArgument) << c.name;
    EXPECT_THAT(snapshot.error().what, HasSubstr(c.why)) << c.name;
  }
}

// The messages for an author who writes one by hand, including its checksum.
TEST(Snapshot, WrongPartsAreNamed) {
  const struct {
    const char* name;
    std::function<void(json&)> change;
    const char* why;
  } cases[] = {
      {"lost list", [](json& body) { body.erase("pods"); }, "snapshot: pods is missing"},
      {"null list", [](json& body) { body["pods"] = nullptr; }, "snapshot: pods is null, no list"},
      {"list", [](json& body) { body["nodes"] = 1; }, "snapshot: nodes is a number"},
      {"null slices", [](json& body) { body["resourceSlices"] = nullptr; },
       "snapshot: resourceSlices is null, no list"},
      {"slice", [](json& body) { body["resourceSlices"][0]["spec"]["devices"] = 1; },
       "resourceSlices[0]: ResourceSlice: spec.devices is a number"},
      {"claim twice",
       [](json& body) { body["resourceClaims"].push_back(body["resourceClaims"][0]); },
       "resourceClaims[1]: team-a/c is there twice"},
      {"requests of a claim",
       [](json& body) { body["resourceClaims"][0]["spec"]["devices"]["requests"] = "all"; },
       "resourceClaims[0]: ResourceClaim: spec.devices.requests is a text"},
      {"class", [](json& body) { body["deviceClasses"][0]["spec"]["selectors"] = true; },
       "deviceClasses[0]: DeviceClass: spec.selectors is true or false"},
      {"node of GPUs", [](json& body) { body["gpuNodes"][0]["status"]["gpus"] = "two"; },
       "gpuNodes[0]: GPUNode: status.gpus is a text"},
      {"early GPUs",
       [](json& body) {
         body.erase("gpuNodes");
         body["nodes"][0]["gpus"] = {{{"uuid", "GPU-1"}}};
       },
       "nodes[0].gpus[0].model is missing"},
      {"node", [](json& body) { body["nodes"][1]["node"]["metadata"].erase("name"); },
       "nodes[1]: Node: metadata.name is missing"},
      {"twice", [](json& body) { body["nodes"][1]["node"]["metadata"]["name"] = "n1"; },
       "nodes[1]: n1 is there twice"},
      {"pod", [](json& body) { body["pods"][0]["spec"]["priority"] = "high"; },
       "pods[0]: Pod: spec.priority is a text"},
      {"pod twice", [](json& body) { body["pods"].push_back(body["pods"][0]); },
       "pods[1]: team-a/p is there twice"},
      {"tier", [](json& body) { body["tiers"][0]["spec"].erase("mechanism"); },
       "tiers[0]: GPUTier: spec.mechanism has 0 entries"},
      {"time", [](json& body) { body["takenAt"] = "yesterday"; }, "takenAt is no time"},
      {"code", [](json& body) { body["gaps"][0]["code"] = "bad luck"; },
       "gaps[0].code is \"bad luck\", no code of ours"},
  };
  for (const auto& c : cases) {
    auto file = json::parse(encode(whole()));
    c.change(file["snapshot"]);
    file["checksum"] = fmt::format("{:016x}", checksum(file["snapshot"].dump()));
    const auto snapshot = decode(file.dump());
    ASSERT_FALSE(snapshot) << c.name;
    EXPECT_EQ(snapshot.error().code, Code::kInvalidArgument) << c.name;
    EXPECT_THAT(snapshot.error().what, HasSubstr(c.why)) << c.name;
  }
}

TEST(Snapshot, CodesOfGapsAreKept) {
  Snapshot snapshot;
  for (int code = 0; code <= static_cast<int>(Code::kInternal); ++code) {
    snapshot.gaps.push_back({"pods", std::to_string(code), static_cast<Code>(code), "m"});
  }
  const auto back = decode(encode(snapshot));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->gaps, sorted(snapshot).gaps);
}

TEST(Snapshot, WhatIsNoUtf8IsReplacedAndStillReadable) {
  Snapshot snapshot;
  snapshot.server = "a\xff";
  const auto back = decode(encode(snapshot));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->server, "a\xef\xbf\xbd");
}

TEST(Snapshot, AffinityThatIsNoJsonIsRefusedByName) {
  Snapshot snapshot;
  snapshot.pods = {{.pod = {.ns = "a", .name = "p"}, .affinity = "{"}};
  const auto back = decode(encode(snapshot));
  ASSERT_FALSE(back);
  EXPECT_THAT(back.error().what, HasSubstr("pods[0]: Pod: spec.affinity is a text"));
}

}  // namespace
}  // namespace tranche::cluster::snapshot_test
