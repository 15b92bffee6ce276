#include "fleet/make_fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/testing.h"

namespace tranche::fleet::make_fleet_test {
namespace {

using namespace testing_facts;
using ::testing::HasSubstr;

constexpr auto kGpu = "nvidia.com/gpu";

Report says(const std::string& node, const std::vector<std::string>& pods) {
  usage::NodeUsage usage{.node = node};
  for (const auto& pod : pods) {
    usage.containers.push_back({.ns = "team", .pod = pod, .container = "c", .memory_used = 7});
  }
  return {.reporting = Reporting::kFresh,
          .usage = std::make_shared<const usage::NodeUsage>(std::move(usage))};
}

std::vector<std::string> pods_of(const FleetNode& node) {
  std::vector<std::string> names;
  for (const auto& one : node.usage.containers) names.push_back(one.pod);
  return names;
}

TEST(MakeFleet, ANodeSpeaksOfItsOwnPods) {
  Facts facts;
  for (const auto* const name : {"honest", "liar"}) add(facts, node(name, {{kGpu, {2, 2}}}));
  add(facts, pod("mine", kGpu, "honest"));
  add(facts, pod("its", kGpu, "liar"));
  add(facts, pod("waits", kGpu));
  const auto fleet = make_fleet(facts,
                                {{"honest", says("honest", {"mine", "asks-for-none"})},
                                 {"liar", says("liar", {"its", "mine", "waits"})}},
                                {});
  ASSERT_EQ(fleet.nodes.size(), 2U);
  EXPECT_EQ(pods_of(fleet.nodes[0]), (std::vector<std::string>{"mine", "asks-for-none"}));
  EXPECT_EQ(fleet.nodes[0].why, "");
  EXPECT_EQ(pods_of(fleet.nodes[1]), std::vector<std::string>{"its"});
  EXPECT_THAT(fleet.nodes[1].why, HasSubstr("2 containers that run elsewhere"));
}

TEST(MakeFleet, NorDoesItsGpuNode) {
  Facts facts;
  add(facts, node("honest", {{kGpu, {1, 1}}}));
  add(facts, pod("p0", kGpu, "honest"));
  facts.gpu_nodes["liar"] = gpu_node("liar", kGpu, 4, 2);
  const auto fleet = make_fleet(facts, {}, {});
  ASSERT_EQ(fleet.nodes.size(), 2U);
  EXPECT_EQ(pods_of(fleet.nodes[1]), std::vector<std::string>{"p1"});
}

}  // namespace
}  // namespace tranche::fleet::make_fleet_test
