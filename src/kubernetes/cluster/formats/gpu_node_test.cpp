#include "cluster/formats/gpu_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cluster/kinds.h"

namespace tranche::cluster::gpu_node_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// Also held to the schema, by tests/e2e/test_schemas.py.
json sample() {
  std::ifstream file("tests/data/gpu-node-v1alpha1.json");
  return json::parse(file);
}

TEST(GpuNode, ComesBackAsWritten) {
  const auto node = parse_gpu_node(sample().dump());
  ASSERT_TRUE(node) << node.error().message();
  EXPECT_EQ(json::parse(to_json(*node)), sample());
  const auto again = parse_gpu_node(to_json(*node));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(*again, *node);
}

TEST(GpuNode, TheMachineIsRead) {
  const auto node = parse_gpu_node(sample().dump());
  ASSERT_TRUE(node && node->status);
  EXPECT_EQ(node->name, "gpu-a");
  EXPECT_THAT(node->owners, ElementsAre(OwnerReference{"v1", "Node", "gpu-a", "uid-of-gpu-a"}));
  const auto& status = *node->status;
  EXPECT_EQ(status.mode, NodeMode::kDevicePlugin);
  ASSERT_EQ(status.gpus.size(), 2U);
  EXPECT_EQ(status.gpus[0].memory, Bytes::from_mib(81920));
  EXPECT_EQ(status.gpus[0].instances->at(0).profile, "1g.10gb");
  EXPECT_EQ(status.gpus[1].instances, std::nullopt);
  EXPECT_THAT(status.gpus[1].unhealthy, HasSubstr("XID 79"));
  EXPECT_THAT(status.links, ElementsAre(GpuNodeLink{0, 1, "system", 12}));
}

TEST(GpuNode, WhoHoldsWhatIsRead) {
  const auto node = parse_gpu_node(sample().dump());
  ASSERT_TRUE(node && node->status);
  const auto& held = node->status->holdings.at(0);
  EXPECT_EQ(held.pod, "train-0");
  EXPECT_EQ(held.part, (GpuNodePart{.memory = Bytes::from_mib(10240),
                                    .weight = 2,
                                    .permille = 250,
                                    .borrows_up_to = Bytes::from_mib(20480),
                                    .enforcer = "limiter"}));
  EXPECT_EQ(node->status->holdings.at(1).part, std::nullopt);
  EXPECT_EQ(node->status->truncated, GpuNodeTruncated{.holdings = 700});
}

TEST(GpuNode, OneWithoutAStatusIsNotAnEmptyNode) {
  const auto node = parse_gpu_node(R"({"metadata":{"name":"n"}})");
  ASSERT_TRUE(node) << node.error().message();
  EXPECT_EQ(node->status, std::nullopt);
  const auto empty = parse_gpu_node(R"({"metadata":{"name":"n"},"status":{}})");
  ASSERT_TRUE(empty) << empty.error().message();
  EXPECT_EQ(empty->status, GpuNodeStatus());
}

TEST(GpuNode, WhatALaterReleaseAddsIsIgnored) {
  const auto node = parse_gpu_node(
      R"({"metadata":{"name":"n"},"status":{"mode":"hybrid","weather":[1],
          "holdings":[{"wire":"cxl","use":"x","state":"y","colour":"red"}]}})");
  ASSERT_TRUE(node) << node.error().message();
  EXPECT_EQ(node->status->mode, std::nullopt);
  EXPECT_EQ(node->status->holdings.at(0).wire, "cxl");
}

TEST(GpuNode, WhatIsNullIsAbsent) {
  const auto node = parse_gpu_node(
      R"({"metadata":{"name":"n"},"status":{"links":null,"truncated":null,
          "gpus":[{"memory":null,"instances":null,"unhealthy":null}],
          "holdings":[{"part":null,"pod":null}]}})");
  ASSERT_TRUE(node) << node.error().message();
  EXPECT_THAT(node->status->gpus, ElementsAre(GpuNodeGpu()));
  EXPECT_THAT(node->status->holdings, ElementsAre(GpuNodeHolding()));
  EXPECT_EQ(parse_gpu_node(R"({"metadata":{"name":"n"},"status":null})")->status, std::nullopt);
}

TEST(GpuNode, WrongTypesAreNamed) {
  const struct {
    const char* name;
    const char* text;
    const char* why;
  } cases[] = {
      {"no name", R"({"metadata":{}})", "metadata.name is missing"},
      {"a list", "[]", "it is a list"},
      {"torn", R"({"metadata":{"name":"n"},"status":{"gpus":[)", "GPUNode"},
      {"gpus", R"({"metadata":{"name":"n"},"status":{"gpus":{}}})", "status.gpus is an object"},
      {"memory", R"({"metadata":{"name":"n"},"status":{"gpus":[{"memory":"much"}]}})",
       "status.gpus[0].memory is no quantity"},
      {"permille", R"({"metadata":{"name":"n"},"status":{"holdings":[{"part":{"permille":"x"}}]}})",
       "status.holdings[0].part.permille"},
  };
  for (const auto& one : cases) {
    const auto node = parse_gpu_node(one.text);
    ASSERT_FALSE(node) << one.name;
    EXPECT_THAT(node.error().what, HasSubstr(one.why)) << one.name;
  }
}

TEST(GpuNode, TheKindIsWhatTheDefinitionSays) {
  EXPECT_EQ(kGpuNode.resource(), "gpunodes.tranche.dev");
  EXPECT_EQ(kGpuNode.api_version(), "tranche.dev/v1alpha1");
  EXPECT_FALSE(kGpuNode.namespaced);
}

}  // namespace
}  // namespace tranche::cluster::gpu_node_test
