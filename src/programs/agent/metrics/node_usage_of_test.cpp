#include "agent/metrics/node_usage_of.h"

#include <gtest/gtest.h>

#include "support/node_figures.h"

namespace tranche::agent::node_usage_of_test {
namespace {

using namespace std::chrono_literals;

usage::NodeUsage made(const metrics::NodeFigures& figures) {
  return node_usage_of(figures, std::chrono::system_clock::time_point(1'700'000'000'123'456us),
                       "0.1.0");
}

TEST(NodeUsageOf, ASharedNode) {
  const auto figures = test::shared_node(2, 3);
  const auto usage = made(figures);
  EXPECT_EQ(usage.node, "gpu-node-01.example.net");
  EXPECT_EQ(usage.agent, "0.1.0");
  EXPECT_EQ(usage.driver_version, "570.158.01");
  EXPECT_EQ(usage.taken_at, std::chrono::system_clock::time_point(1'700'000'000'123ms));
  EXPECT_EQ(usage.age, 250ms);
  EXPECT_EQ(usage.containers, figures.containers);
  EXPECT_EQ(usage.tranches, figures.tranches);
  EXPECT_EQ(usage.checks, figures.checks);
  ASSERT_EQ(usage.gpus.size(), 2U);
  const auto& gpu = usage.gpus[1];
  EXPECT_EQ(gpu.index, 1U);
  EXPECT_EQ(gpu.uuid, test::gpu_uuid(1));
  EXPECT_FALSE(gpu.mig);
  EXPECT_EQ(gpu.memory, figures.memory[1]);
  EXPECT_EQ(gpu.memory_used, Bytes::from_mib(30000).value);
  EXPECT_EQ(gpu.utilization, 0.97);
  EXPECT_EQ(gpu.temperature_c, 61);
  EXPECT_EQ(gpu.power_w, 287.412);
  EXPECT_EQ(gpu.last_xid, std::nullopt);
}

TEST(NodeUsageOf, InstancesHaveTheirPlaces) {
  auto gpu = test::a100_40gb(0).mig({"1g.5gb", "2g.10gb"}).build();
  gpu.mig_instances[0].placement = gpu::Placement{.start = 6, .size = 1};
  gpu.mig_instances[1].placement.reset();
  gpu.mig_instances[1].attributes.memory = Bytes::from_mib(9856);
  metrics::NodeFigures figures{.gpus = {test::busy_gpu(gpu)}};
  figures.gpus[0].fast->instances.pop_back();
  const auto usage = made(figures);
  ASSERT_EQ(usage.gpus.at(0).instances.size(), 2U);
  EXPECT_TRUE(usage.gpus[0].mig);
  const auto& [one, two] = std::tie(usage.gpus[0].instances[0], usage.gpus[0].instances[1]);
  EXPECT_EQ(one.profile, "1g.5gb");
  EXPECT_EQ(one.start, 6U);
  EXPECT_EQ(one.size, 1U);
  EXPECT_EQ(one.memory, Bytes::from_mib(19968).value) << "as it was read";
  EXPECT_EQ(two.start, std::nullopt);
  EXPECT_EQ(two.memory, Bytes::from_mib(9856).value) << "as the driver describes it";
}

TEST(NodeUsageOf, WhatIsNotReadIsUnknown) {
  metrics::NodeFigures figures{.gpus = {{.gpu = test::t4(0).build(), .last_xid = 79}}};
  const auto usage = made(figures);
  EXPECT_EQ(usage.age, std::nullopt);
  const auto& gpu = usage.gpus.at(0);
  EXPECT_EQ(gpu.memory, std::nullopt);
  EXPECT_EQ(gpu.memory_total, std::nullopt);
  EXPECT_EQ(gpu.utilization, std::nullopt);
  EXPECT_EQ(gpu.power_w, std::nullopt);
  EXPECT_EQ(gpu.last_xid, 79U);
}

}  // namespace
}  // namespace tranche::agent::node_usage_of_test
