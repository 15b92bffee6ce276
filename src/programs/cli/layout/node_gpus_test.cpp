#include "cli/layout/node_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_objects.h"

namespace tranche::cli::node_gpus_test {
namespace {

using testing::HasSubstr;

TEST(NodeGpus, AreWhatTheAgentPublished) {
  test::FakeObjects api;
  api.put(cluster::kGpuNode, R"({"metadata":{"name":"n"},"status":{"gpus":[
    {"index":0,"uuid":"GPU-1","model":"NVIDIA H100","mig":"enabled","instances":[
      {"uuid":"MIG-1","profile":"3g.40gb"},{"uuid":"MIG-2","profile":"1g.10gb"},
      {"uuid":"MIG-3","profile":"1g.10gb"}]},
    {"index":1,"uuid":"GPU-2","model":"NVIDIA L20","mig":"unsupported"}]}})");
  const auto gpus = read_node_gpus(api, "n");
  EXPECT_TRUE(gpus.published);
  EXPECT_EQ(describe(gpus),
            "  GPU 0      NVIDIA H100: 3g.40gb, 1g.10gb x 2\n"
            "  GPU 1      NVIDIA L20: no MIG\n");
  EXPECT_THAT(document_of(gpus).text(),
              HasSubstr(R"("instances":[{"uuid":"MIG-1","profile":"3g.40gb"},)"));
  EXPECT_THAT(document_of(gpus).text(), HasSubstr(R"("mig":"unsupported","instances":null)"));
}

// Right after a change, kubelet has not told the Node.
TEST(NodeGpus, WhatTheNodeDoesNotTellYetIsServedSoon) {
  test::FakeObjects api;
  api.put(cluster::kGpuNode, R"({"metadata":{"name":"n"},"status":{"resources":[
    {"name":"nvidia.com/mig-1g.10gb","sharing":"none","tranches":7,"healthy":7},
    {"name":"nvidia.com/mig-3g.40gb","sharing":"none","tranches":2,"healthy":0},
    {"name":"gpu.nvidia.com","sharing":"claims","tranches":2,"healthy":2}]}})");
  const auto gpus = read_node_gpus(api, "n");
  EXPECT_THAT(soon_text(gpus, {{"nvidia.com/gpu", 1}, {"nvidia.com/mig-1g.10gb", 0}}),
              testing::AllOf(HasSubstr("soon       nvidia.com/mig-1g.10gb 7: the agent serves it"),
                             testing::Not(HasSubstr("3g.40gb")), testing::Not(HasSubstr("gpu.n"))));
  EXPECT_EQ(soon_text(gpus, {{"nvidia.com/mig-1g.10gb", 7}}), "");
  EXPECT_EQ(soon_text({}, {}), "");
}

TEST(NodeGpus, ShowMig) {
  const struct {
    const char* name;
    cluster::GpuNodeGpu gpu;
    const char* text;
  } cases[] = {
      {"off", {.mig = "disabled"}, "MIG off"},
      {"empty", {.mig = "enabled", .instances = {{}}}, "MIG on, no instances"},
      {"not told", {.mig = "enabled"}, "MIG on, instances not known"},
      {"nothing", {}, "MIG not known"},
  };
  for (const auto& one : cases) EXPECT_EQ(mig_text(one.gpu), one.text) << one.name;
}

TEST(NodeGpus, NothingPublishedIsNoTroubleAndAFailureIs) {
  test::FakeObjects api;
  auto none = read_node_gpus(api, "n");
  EXPECT_FALSE(none.published);
  EXPECT_EQ(describe(none), "");
  api.put(cluster::kGpuNode, R"({"metadata":{"name":"n"}})");
  none = read_node_gpus(api, "n");
  EXPECT_FALSE(none.published) << "its agent has not written yet";
  api.refuse("get", cluster::kGpuNode, {Code::kPermission, "forbidden\x1b[2J"});
  const auto failed = read_node_gpus(api, "n");
  EXPECT_FALSE(failed.published);
  EXPECT_EQ(describe(failed), "  GPUs       not known: forbidden?[2J\n");
}

}  // namespace
}  // namespace tranche::cli::node_gpus_test
