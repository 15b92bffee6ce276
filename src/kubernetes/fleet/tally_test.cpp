#include "fleet/tally.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "fleet/node_count.h"
#include "fleet/testing.h"

namespace tranche::fleet::tally_test {
namespace {

using namespace testing_facts;
using usage::Mechanism;

constexpr const char* kGpu = "nvidia.com/gpu";

Capacity row(const Facts& facts, const std::string& resource = kGpu) {
  for (const auto& one : tally(facts).capacity) {
    if (one.resource == resource) return one;
  }
  return {};
}

cluster::GpuTier tier(const std::string& name, const std::string& resource) {
  return {.name = name,
          .mechanism = cluster::ExclusiveTier(),
          .resource = resource,
          .namespaces = {.names = {"team"}, .selector = {}}};
}

TEST(Tally, ANodeOfTheAgentsAndOneOfAnotherPlugin) {
  Facts facts;
  add(facts, node("a", {{kGpu, {4, 3}}}));
  facts.gpu_nodes["a"] = gpu_node("a", kGpu, 4, 1, 1);
  add(facts, node("b", {{kGpu, {8, 6}}}));
  add(facts, pod("p0", kGpu, "a"));
  add(facts, pod("p1", kGpu, "b"));
  const auto counted = tally(facts);
  ASSERT_EQ(counted.capacity.size(), 2U);
  EXPECT_EQ(counted.capacity[0], (Capacity{.resource = kGpu,
                                           .mechanism = Mechanism::kExclusive,
                                           .advertised = 8,
                                           .allocated = 1,
                                           .withheld = 2,
                                           .free = 5}));
  EXPECT_EQ(counted.capacity[1], (Capacity{.resource = kGpu,
                                           .mechanism = Mechanism::kTimeSlicing,
                                           .advertised = 4,
                                           .allocated = 1,
                                           .withheld = 1,
                                           .free = 2}));
  EXPECT_EQ(counted.namespaces,
            (std::vector<NamespaceUse>{{.ns = "team", .resource = kGpu, .allocated = 2}}));
}

TEST(Tally, WhatIsWithheldAndHeldIsNotTakenTwice) {
  Facts facts;
  add(facts, node("a", {{kGpu, {4, 4}}}));
  facts.gpu_nodes["a"] = gpu_node("a", kGpu, 2, 2);
  // A second GPU, which is free; the first is unhealthy and held.
  auto& status = *facts.gpu_nodes["a"].status;
  status.gpus[0].unhealthy = "XID 79";
  status.gpus.push_back({.index = 1, .uuid = "GPU-2", .model = "NVIDIA L20"});
  status.resources[0].tranches = 4;
  status.resources[0].healthy = 2;
  status.resources[0].unhealthy = 2;
  status.resources[0].devices.push_back({.uuid = "GPU-2", .tranches = 2});
  facts.nodes["a"].resources[kGpu].allocatable = 2;
  add(facts, pod("p0", kGpu, "a"));
  add(facts, pod("p1", kGpu, "a"));
  EXPECT_EQ(row(facts), (Capacity{.resource = kGpu,
                                  .mechanism = Mechanism::kTimeSlicing,
                                  .advertised = 4,
                                  .allocated = 2,
                                  .withheld = 0,
                                  .free = 2}));
}

TEST(Tally, AClosedNodeHasNothingFree) {
  for (const auto* const why : {"cordoned", "not ready", "agent", "unknown"}) {
    Facts facts;
    facts.gpu_nodes["a"] = gpu_node("a", kGpu, 4);
    auto one = node("a", {{kGpu, {4, 4}}});
    if (why == std::string_view("cordoned")) one.cordoned = true;
    if (why == std::string_view("not ready")) one.ready = false;
    if (why == std::string_view("agent")) one.not_serving = "AgentStopped";
    if (why != std::string_view("unknown")) add(facts, one);
    EXPECT_EQ(row(facts).free, 0U) << why;
    EXPECT_EQ(row(facts).advertised, 4U) << why;
  }
}

TEST(Tally, WhatKubeletDoesNotCountIsNotFree) {
  Facts facts;
  add(facts, node("a", {{kGpu, {4, 0}}}));
  facts.gpu_nodes["a"] = gpu_node("a", kGpu, 4);
  EXPECT_EQ(row(facts).free, 0U) << "its agent is gone";
  facts.nodes["a"].resources.clear();
  EXPECT_EQ(row(facts).withheld, 4U);
}

TEST(Tally, WhoWaits) {
  Facts facts;
  add(facts, node("a", {{kGpu, {1, 1}}}));
  add(facts, pod("runs", kGpu, "a"));
  auto first =
      unscheduled("first", kGpu, "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.");
  first.created = cluster::WallTime(std::chrono::seconds(100));
  first.wants[kGpu] = 2;
  auto second = first;
  second.key.name = "second";
  second.created = cluster::WallTime(std::chrono::seconds(50));
  auto nowhere = unscheduled("nowhere", "nvidia.com/gpu.shared", "no");
  nowhere.created = cluster::WallTime(std::chrono::seconds(70));
  add(facts, first);
  add(facts, second);
  add(facts, nowhere);
  const auto counted = tally(facts);
  ASSERT_EQ(counted.waiting.size(), 3U);
  EXPECT_EQ(counted.waiting[0].pod, "second") << "the oldest first";
  EXPECT_EQ(counted.waiting[1].cause, Cause::kNoSuchResource);
  EXPECT_EQ(counted.waiting[2].wants, (std::vector<Wish>{{kGpu, 2}}));
  EXPECT_EQ(counted.capacity[0].pending, 4U);
  ASSERT_EQ(counted.pending.size(), 2U);
  EXPECT_EQ(counted.pending[0], (PendingGroup{.ns = "team",
                                              .resource = kGpu,
                                              .mechanism = Mechanism::kExclusive,
                                              .cause = Cause::kNotEnough,
                                              .pods = 2,
                                              .oldest = second.created}));
  EXPECT_EQ(counted.pending[1].mechanism, std::nullopt) << "no node has it";
}

TEST(Tally, APodThatStartsHasItsPlaceAlready) {
  Facts facts;
  add(facts, node("a", {{kGpu, {2, 2}}}));
  auto starting = pod("p", kGpu, "a");
  starting.phase = "Pending";
  add(facts, starting);
  const auto counted = tally(facts);
  EXPECT_EQ(counted.capacity[0].allocated, 1U);
  EXPECT_EQ(counted.capacity[0].pending, 0U);
  EXPECT_EQ(counted.namespaces[0].pending, 0U);
  EXPECT_EQ(counted.waiting[0].cause, Cause::kStarting);
  EXPECT_EQ(counted.pending[0].pods, 1U);
}

TEST(Tally, RejectedPodsWaitForNothing) {
  Facts facts;
  add(facts, node("a", {{kGpu, {2, 2}}}));
  auto rejected = pod("p", kGpu, "a");
  rejected.phase = "Failed";
  rejected.reason = "TopologyAffinityError";
  add(facts, rejected);
  const auto counted = tally(facts);
  EXPECT_EQ(
      counted.rejected,
      (std::vector<RejectedGroup>{
          {.reason = "TopologyAffinityError", .node = "a", .product = "NVIDIA-L20", .pods = 1}}));
  EXPECT_EQ(counted.waiting[0].cause, Cause::kTopology);
  EXPECT_TRUE(counted.pending.empty());
  EXPECT_EQ(counted.capacity[0].allocated, 0U);
  EXPECT_EQ(counted.capacity[0].pending, 0U);
}

TEST(Tally, TiersByTheirNodesAndTheirUsers) {
  Facts facts;
  auto labelled = node("a", {{kGpu, {4, 4}}});
  labelled.labels["pool"] = "gold";
  add(facts, labelled);
  add(facts, node("b", {{kGpu, {4, 4}}}));
  facts.tiers["gold"] = tier("gold", kGpu);
  facts.tiers["gold"].eligibility.node_selector =
      cluster::LabelSelector{.match_labels = {{"pool", "gold"}}};
  add(facts, pod("p", kGpu, "a"));
  add(facts, pod("q", kGpu, "b"));
  add(facts, pod("w", kGpu));
  auto counted = tally(facts);
  ASSERT_EQ(counted.capacity.size(), 2U);
  EXPECT_EQ(counted.capacity[0].tier, "");
  EXPECT_EQ(counted.capacity[0].allocated, 1U);
  EXPECT_EQ(counted.capacity[1].tier, "gold");
  EXPECT_EQ(counted.capacity[1].pending, 1U);
  EXPECT_EQ(counted.waiting[0].tier, "gold");
  facts.tiers["silver"] = tier("silver", kGpu);
  counted = tally(facts);
  EXPECT_EQ(counted.waiting[0].tier, "") << "it can be in either";
}

// As the agent names the tier of their containers: by mechanism, and by the model without the
// suffixes of the label.
TEST(Tally, TiersOfOneResourceByTheirMechanism) {
  Facts facts;
  auto shared = node("a", {{kGpu, {4, 4}}});
  shared.labels["nvidia.com/gpu.product"] = "NVIDIA-L20-SHARED";
  add(facts, shared);
  facts.gpu_nodes["a"] = gpu_node("a", kGpu, 4);
  add(facts, node("b", {{kGpu, {1, 1}}}));
  facts.tiers["whole"] = tier("whole", kGpu);
  facts.tiers["cut"] = tier("cut", kGpu);
  facts.tiers["cut"].mechanism = cluster::TimeSlicingTier{4};
  for (auto& [name, one] : facts.tiers) one.eligibility.models = {"NVIDIA-L20"};
  add(facts, pod("p", kGpu, "a"));
  add(facts, pod("q", kGpu, "b"));
  add(facts, pod("w", kGpu));
  const auto counted = tally(facts);
  ASSERT_EQ(counted.capacity.size(), 2U);
  EXPECT_EQ(counted.capacity[0].tier, "whole");
  EXPECT_EQ(counted.capacity[1].tier, "cut");
  ASSERT_EQ(counted.namespaces.size(), 3U);
  EXPECT_EQ(counted.namespaces[0].tier, "") << "w can be in either";
  EXPECT_EQ(counted.namespaces[1].tier, "cut");
  EXPECT_EQ(counted.namespaces[2].tier, "whole");
}

TEST(Tally, ClaimsCountDevices) {
  Facts facts;
  facts.classes = {{"gpu-share", Mechanism::kShare}, {"mig.nvidia.com", Mechanism::kMig}};
  add(facts, node("a", {}));
  cluster::GpuNodeStatus status;
  status.mode = cluster::NodeMode::kDra;
  status.resources = {{.name = "gpu.nvidia.com",
                       .sharing = "claims",
                       .tranches = 3,
                       .healthy = 3,
                       .devices = {{"GPU-1", 1}, {"GPU-2", 1}, {"MIG-1", 1}}}};
  for (const auto* const ns : {"one", "one", "two"}) {
    status.holdings.push_back({.device = "GPU-1", .wire = "claim", .ns = ns, .use = "shared"});
  }
  facts.gpu_nodes["a"] = {.name = "a", .status = status};
  facts.claims[{"team", "c"}] = {.wants = {{"gpu-share", 1}, {"nic.example.com", 1}}};
  facts.claims[{"team", "nic"}] = {.wants = {{"nic.example.com", 1}}};
  add(facts, PodFacts{.key = {"team", "p"}, .phase = "Pending", .claims = {"c"}});
  add(facts, PodFacts{.key = {"team", "other"}, .phase = "Pending", .claims = {"nic"}});
  add(facts, PodFacts{.key = {"team", "silent"}, .phase = "Pending", .claims = {"gone"}});
  const auto counted = tally(facts);
  ASSERT_EQ(counted.capacity.size(), 2U);
  EXPECT_EQ(counted.capacity[0].mechanism, Mechanism::kMig);
  EXPECT_EQ(counted.capacity[0].free, 1U);
  EXPECT_EQ(counted.capacity[1], (Capacity{.resource = "gpu.nvidia.com",
                                           .mechanism = Mechanism::kShare,
                                           .advertised = 2,
                                           .allocated = 1,
                                           .free = 1,
                                           .pending = 1}));
  ASSERT_EQ(counted.waiting.size(), 2U) << "not the one that asks for a network card";
  EXPECT_EQ(counted.namespaces.size(), 3U);
}

TEST(Tally, NobodysNodeNameIsBelieved) {
  Facts facts;
  add(facts, node("a", {{kGpu, {1, 1}}}));
  auto lying = pod("p", kGpu, "nowhere");
  lying.phase = "Pending";
  lying.wants[kGpu] = 1'000'000'000'000;
  add(facts, lying);
  const auto counted = tally(facts);
  EXPECT_EQ(counted.capacity[0].free, 1U);
  EXPECT_TRUE(counted.namespaces.empty());
}

TEST(Tally, SumsDoNotOverflow) {
  const auto most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(sum_of(most, 5), most);
  Facts facts;
  add(facts, node("a", {{kGpu, {most, most}}}));
  add(facts, node("b", {{kGpu, {most, most}}}));
  auto big = pod("p", kGpu, "a");
  big.wants[kGpu] = most;
  add(facts, big);
  EXPECT_EQ(row(facts).advertised, most);
  EXPECT_EQ(row(facts).allocated, most);
}

// ---- what holds of any cluster

class AnyCluster {
 public:
  explicit AnyCluster(unsigned seed) : chance_(seed) {}

  Facts make() {
    Facts facts;
    for (unsigned i = 0; i < 1 + below(6); ++i) add_node(facts, "n" + std::to_string(i));
    for (unsigned i = 0; i < below(40); ++i) {
      auto one = pod("p" + std::to_string(i), resource(), below(3) == 0 ? "" : name());
      const char* const phases[] = {"Pending", "Running", "Failed", "Succeeded", ""};
      one.phase = phases[below(5)];
      one.wants[resource()] = below(5);
      if (below(4) == 0) one.reason = "UnexpectedAdmissionError";
      add(facts, one);
    }
    return facts;
  }

 private:
  unsigned below(unsigned most) {
    return std::uniform_int_distribution<unsigned>(0, most - 1)(chance_);
  }
  std::string name() { return "n" + std::to_string(below(7)); }
  std::string resource() {
    const char* const names[] = {kGpu, "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"};
    return names[below(3)];
  }
  void add_node(Facts& facts, const std::string& named) {
    auto one = node(named, {});
    one.cordoned = below(5) == 0;
    for (unsigned i = 0; i < below(3); ++i) one.resources[resource()] = {below(9), below(9)};
    if (below(5) != 0) add(facts, one);
    if (below(3) == 0) return;
    const auto tranches = below(6);
    facts.gpu_nodes[named] = gpu_node(named, resource(), tranches, below(8), below(tranches + 1));
    if (below(4) == 0) facts.gpu_nodes[named].status->gpus[0].unhealthy = "XID";
    if (below(6) == 0) facts.gpu_nodes[named].status.reset();
  }

  std::mt19937 chance_;
};

TEST(Tally, SumsCloseOnAnyNode) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const auto facts = AnyCluster(seed).make();
    for (const auto& name : gpu_nodes_of(facts)) {
      const auto node = facts.nodes.find(name);
      const auto gpu_node = facts.gpu_nodes.find(name);
      Amounts asked;
      for (const auto& [key, pod] : facts.pods) {
        if (pod.node != name) continue;
        for (const auto& [resource, count] : pod.wants) asked[resource] += count;
      }
      const auto* const facts_of = node == facts.nodes.end() ? nullptr : &node->second;
      for (const auto& one : count_tranches(
               facts_of, gpu_node == facts.gpu_nodes.end() ? nullptr : &gpu_node->second, asked)) {
        EXPECT_LE(one.allocated + one.withheld + one.free, std::max(one.advertised, one.allocated))
            << seed;
        if (facts_of == nullptr || facts_of->cordoned) {
          EXPECT_EQ(one.free, 0U) << seed;
        }
        EXPECT_EQ(one.allocated, asked.contains(one.resource) ? asked[one.resource] : 0) << seed;
      }
    }
  }
}

TEST(Tally, NamespacesAddUpToTheCapacity) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const auto counted = tally(AnyCluster(seed).make());
    std::map<std::string, std::uint64_t> rows;
    std::map<std::string, std::uint64_t> uses;
    for (const auto& one : counted.capacity) rows[one.resource] += one.allocated;
    for (const auto& one : counted.namespaces) uses[one.resource] += one.allocated;
    for (const auto& [resource, allocated] : uses) EXPECT_EQ(rows[resource], allocated) << seed;
    for (const auto& [resource, allocated] : rows) EXPECT_EQ(uses[resource], allocated) << seed;
  }
}

}  // namespace
}  // namespace tranche::fleet::tally_test
