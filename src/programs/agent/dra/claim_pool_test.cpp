#include "agent/dra/claim_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/config/mode_standing.h"
#include "agent/dra/claim_standing.h"
#include "agent/dra/testing.h"
#include "agent/hardware/leaving.h"
#include "agent/mps/mps_standing.h"
#include "agent/withholding/held_standing.h"
#include "support/machines.h"

namespace tranche::agent::claim_pool_test {
namespace {

using cluster::NodeMode;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kUid = "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a";

class ClaimPoolTest : public testing::Test {
 protected:
  ClaimPoolTest() {
    state_.machine = test::machine_of(3, test::l20);
    state_.edit<NodeModeStanding>().mode = NodeMode::kDra;
    state_.edit<ClaimStanding>().mounts = offer::LimitMounts{"/lib.so", "/preload", "/tenants"};
  }
  std::string uuid(std::size_t gpu) const { return state_.machine->gpus[gpu].uuid.value; }
  dra::PreparedClaim claim(std::size_t gpu, std::uint32_t percent = 50) const {
    dra::PreparedClaim claim{.ns = "team", .name = "half", .uid = kUid, .boot = "b"};
    claim.devices.push_back({.request = "gpu",
                             .pool = "gpu-n1",
                             .device = fmt::format("gpu-{}", gpu),
                             .uuid = uuid(gpu),
                             .part = dra::ConsumedPart{Bytes::from_mib(1024), percent}});
    return claim;
  }
  std::vector<std::string> names(const std::vector<dra::PreparedClaim>& prepared = {}) const {
    std::vector<std::string> names;
    for (const auto& device : make_claim_pool(state_, {.prepared = prepared}).gpus) {
      names.push_back(device.name);
    }
    return names;
  }

  State state_;
};

TEST_F(ClaimPoolTest, InModeDraTheFullestGpuStandsFirst) {
  EXPECT_THAT(names(), ElementsAre("gpu-0", "gpu-1", "gpu-2"));
  EXPECT_THAT(names({claim(2)}), ElementsAre("gpu-2", "gpu-0", "gpu-1"));
}

TEST_F(ClaimPoolTest, WhatContainersOfTheDevicePluginHoldIsNotThere) {
  state_.edit<HeldStanding>().at_odds = {
      {.device = uuid(1), .resource = {"nvidia.com/gpu"}, .id = uuid(1) + "::3"}};
  EXPECT_THAT(names(), ElementsAre("gpu-0", "gpu-2"));
  // An allocated device stays listed in any case.
  EXPECT_THAT(names({claim(1)}), SizeIs(3));
}

// Of the same name, gpu-1, in the pool of the driver's former name: the scheduler does not count it
// for this one.
TEST_F(ClaimPoolTest, WhatAClaimOfAnotherPoolHoldsIsNotThere) {
  auto former = claim(1);
  former.driver = "old.example.com";
  PoolWish wish{.prepared = {former}, .driver = "gpu.nvidia.com", .pool = "gpu-n1"};
  const auto listed = [&] {
    std::vector<std::string> devices;
    for (const auto& device : make_claim_pool(state_, wish).gpus) devices.push_back(device.name);
    return devices;
  };
  EXPECT_THAT(listed(), ElementsAre("gpu-0", "gpu-2"));
  wish.prepared[0].driver = "gpu.nvidia.com";
  wish.pool = "gpu-n1/gpu.nvidia.com";
  EXPECT_THAT(listed(), ElementsAre("gpu-0", "gpu-2")) << "the pool had another name";
  wish.pool = "gpu-n1";
  EXPECT_THAT(listed(), SizeIs(3));
  state_.edit<NodeModeStanding>().mode = NodeMode::kDevicePlugin;
  wish.prepared[0].driver = "old.example.com";
  EXPECT_THAT(listed(), IsEmpty());
}

TEST_F(ClaimPoolTest, InModeDevicePluginOnlyWhatClaimsHoldIsListedWithATaint) {
  state_.edit<NodeModeStanding>().mode = NodeMode::kDevicePlugin;
  EXPECT_THAT(names(), IsEmpty());
  const auto pool = make_claim_pool(state_, {.prepared = {claim(1)}});
  ASSERT_THAT(pool.gpus, SizeIs(1));
  EXPECT_EQ(pool.gpus[0].name, "gpu-1");
  ASSERT_THAT(pool.gpus[0].taints, SizeIs(1));
  EXPECT_EQ(pool.gpus[0].taints[0].key, "tranche.dev/mode");
  EXPECT_EQ(pool.gpus[0].taints[0].effect, "NoSchedule");
}

TEST_F(ClaimPoolTest, AnUnhealthyGpuHasATaintUntilItHeals) {
  state_.health = {{uuid(0), "XID 79"}};
  const auto ill = make_claim_pool(state_, {}).gpus;
  ASSERT_THAT(ill, SizeIs(3));
  ASSERT_THAT(ill[0].taints, SizeIs(1));
  EXPECT_EQ(ill[0].taints[0].key, "tranche.dev/unhealthy");
  EXPECT_THAT(ill[1].taints, IsEmpty());
  EXPECT_EQ(ill[0].taints[0].effect, "NoSchedule");
  const auto evicting = make_claim_pool(state_, {.evicting = {uuid(0)}}).gpus;
  ASSERT_THAT(evicting[0].taints, SizeIs(1));
  EXPECT_EQ(evicting[0].taints[0].effect, "NoExecute");
  state_.health.clear();
  EXPECT_THAT(make_claim_pool(state_, {}).gpus[0].taints, IsEmpty());
}

// A held device stays listed, because the scheduler counts only listed devices.
TEST_F(ClaimPoolTest, WhereTaintsAreDroppedAnUnhealthyGpuThatNobodyHoldsIsNotListed) {
  state_.health = {{uuid(0), "XID 79"}, {uuid(1), "XID 79"}};
  const PoolWish wish{.prepared = {claim(1)}, .dropped = {.taints = true}};
  const auto gpus = make_claim_pool(state_, wish).gpus;
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_EQ(gpus[0].name, "gpu-1");
  EXPECT_EQ(gpus[1].name, "gpu-2");
  state_.health.clear();
  EXPECT_THAT(make_claim_pool(state_, wish).gpus, SizeIs(3));
  // Nothing would keep others away from these.
  EXPECT_THAT(make_claim_pool(state_, wish).admins, IsEmpty());
  EXPECT_THAT(make_claim_pool(state_, {}).admins, SizeIs(3));
}

TEST_F(ClaimPoolTest, WhatLeavesServiceForAMigChangeGetsNoNewClaim) {
  state_.edit<MigStanding>().changing = {{uuid(1), {}}};
  const auto gpus = make_claim_pool(state_, {.prepared = {claim(1)}}).gpus;
  ASSERT_THAT(gpus, SizeIs(3));
  EXPECT_EQ(gpus[0].name, "gpu-1");
  ASSERT_THAT(gpus[0].taints, SizeIs(1));
  EXPECT_EQ(gpus[0].taints[0].key, "tranche.dev/mig-change");
  EXPECT_THAT(gpus[1].taints, IsEmpty());
}

// Without limits nothing is shared.
TEST_F(ClaimPoolTest, WithoutLimitsOrTheGateNothingIsShared) {
  EXPECT_TRUE(make_claim_pool(state_, {}).gpus[0].shareable);
  const auto gate_off = make_claim_pool(state_, {.dropped = {.shares = true}}).gpus[0];
  EXPECT_FALSE(gate_off.shareable);
  EXPECT_FALSE(gate_off.capacity.at("memory").policy);
  state_.edit<ClaimStanding>().mounts.reset();
  EXPECT_FALSE(make_claim_pool(state_, {}).gpus[0].shareable);
}

// --- places -------------------------------------------------------------------------------------

class CutPoolTest : public ClaimPoolTest {
 protected:
  CutPoolTest() {
    state_.machine = node_.machine;
    state_.edit<ClaimStanding>().cut = {node_.uuid(0), node_.uuid(1)};
  }
  std::vector<std::string> instances(const std::vector<dra::PreparedClaim>& prepared = {}) const {
    std::vector<std::string> names;
    for (const auto& group : make_claim_pool(state_, {.prepared = prepared}).instances) {
      for (const auto& device : group) names.push_back(device.name);
    }
    return names;
  }
  dra::PreparedClaim cut(std::size_t gpu) const {
    auto claim = this->claim(gpu);
    claim.devices[0].device = fmt::format("gpu-{}-mig-3g40gb-9-4", gpu);
    claim.devices[0].uuid = "MIG-7";
    claim.devices[0].part.reset();
    claim.devices[0].place = node_.place(gpu, cut_node_testing::k3g, 4);
    return claim;
  }

  cut_node_testing::CutNode node_;
};

TEST_F(CutPoolTest, AllPlacesAreListedTheLastGpusFirst) {
  const auto all = instances();
  ASSERT_THAT(all, SizeIs(testing::Gt(20)));
  EXPECT_EQ(all.front(), "gpu-1-mig-1g10gb-19-6") << "what a claim without a profile gets";
  EXPECT_THAT(all.back(), testing::StartsWith("gpu-0-mig-7g80gb"));
  EXPECT_THAT(names(), ElementsAre("gpu-0", "gpu-1"));
  EXPECT_THAT(make_claim_pool(state_, {}).counters, SizeIs(2));
  EXPECT_EQ(instances({cut(1)}), all) << "what is taken, the counters say";
}

// The scheduler counts only listed devices, so a held place stays listed whatever happens to the
// GPU.
TEST_F(CutPoolTest, APlaceThatIsHeldStaysListedAlone) {
  state_.edit<ClaimStanding>().cut = {node_.uuid(0)};
  auto listed = instances({cut(1)});
  EXPECT_THAT(listed.front(), "gpu-1-mig-3g40gb-9-4");
  EXPECT_THAT(listed.at(1), "gpu-0-mig-1g10gb-19-6");
  const auto last = make_claim_pool(state_, {.prepared = {cut(1)}});
  EXPECT_THAT(last.counters, SizeIs(2));
  for (const auto& device : {last.instances.at(0).at(0), last.gpus.at(1)}) {
    ASSERT_THAT(device.taints, SizeIs(1)) << device.name;
    EXPECT_EQ(device.taints[0].key, "tranche.dev/mig-change") << "its place is not made again";
  }
  EXPECT_THAT(last.gpus.at(0).taints, IsEmpty());

  state_.edit<NodeModeStanding>().mode = NodeMode::kDevicePlugin;
  EXPECT_THAT(instances(), IsEmpty());
  EXPECT_THAT(instances({cut(1)}), ElementsAre("gpu-1-mig-3g40gb-9-4"));
  EXPECT_THAT(names({cut(1)}), IsEmpty());
  const auto pool = make_claim_pool(state_, {.prepared = {cut(1)}});
  ASSERT_THAT(pool.instances.at(0).at(0).taints, SizeIs(1));
  EXPECT_EQ(pool.instances[0][0].taints[0].key, "tranche.dev/mode");
}

// Without the feature gate DRAPartitionableDevices nothing would keep two places apart.
TEST_F(CutPoolTest, WithoutCountersThereAreNoPlaces) {
  const PoolWish wish{.dropped = {.counters = true}};
  EXPECT_THAT(make_claim_pool(state_, wish).instances, IsEmpty());
  EXPECT_THAT(make_claim_pool(state_, wish).counters, IsEmpty());
  EXPECT_THAT(make_claim_pool(state_, wish).gpus, SizeIs(2));
}

TEST_F(CutPoolTest, OfAGpuThatTheDevicePluginGaveNoPlaceIsListed) {
  state_.edit<HeldStanding>().at_odds = {
      {.device = uuid(1), .resource = {"nvidia.com/gpu"}, .id = uuid(1)}};
  EXPECT_THAT(instances().front(), testing::StartsWith("gpu-0-"));
  EXPECT_THAT(names(), ElementsAre("gpu-0"));
}

TEST_F(CutPoolTest, AnIllGpuIsIllInItsPlaces) {
  state_.health = {{uuid(1), "XID 79"}};
  const auto pool = make_claim_pool(state_, {.prepared = {cut(1)}});
  for (const auto& device : pool.instances.at(0)) EXPECT_THAT(device.taints, SizeIs(1));
  EXPECT_THAT(pool.instances.at(1).at(0).taints, IsEmpty());
  const auto told = health_of(state_, {cut(1)}, "gpu-n1");
  ASSERT_THAT(told, SizeIs(5));  // each GPU for claims and for adminAccess
  EXPECT_EQ(told[3].device, "gpu-1-admin");
  EXPECT_EQ(told[3].reason, "XID 79");
  EXPECT_EQ(told[4].device, "gpu-1-mig-3g40gb-9-4");
  EXPECT_EQ(told[4].reason, "XID 79");
}

// A claim that NVIDIA's driver allocated names the node as pool.
TEST_F(ClaimPoolTest, HealthIsToldByThePoolOfTheClaim) {
  state_.health = {{uuid(1), "XID 79"}};
  auto nvidias = claim(1);
  nvidias.devices.at(0).pool = "n1";
  const auto told = health_of(state_, {nvidias, nvidias, claim(0)}, "pool");
  std::vector<std::string> of_n1;
  for (const auto& one : told) {
    if (one.pool == "n1") of_n1.push_back(one.device + ": " + one.reason);
  }
  EXPECT_THAT(of_n1, testing::ElementsAre("gpu-1: XID 79"));
}

TEST_F(ClaimPoolTest, TellsAnotherOrderFromOtherDevices) {
  const auto before = make_claim_pool(state_, {});
  EXPECT_TRUE(differ_in_order_alone(before, make_claim_pool(state_, {.prepared = {claim(2)}})));
  state_.health = {{uuid(0), "XID 79"}};
  EXPECT_FALSE(differ_in_order_alone(before, make_claim_pool(state_, {})));
}

TEST_F(ClaimPoolTest, AGpuThatMpsIsToServeGetsClaimsOnlyWhileItDoes) {
  const std::string resource = "nvidia.com/gpu";
  state_.edit<ClaimStanding>().enforcers.gpus[uuid(0)].mps = resource;
  const auto taint = [&]() -> std::string {
    const auto gpus = make_claim_pool(state_, {.evicting = {}}).gpus;
    EXPECT_THAT(gpus[1].taints, IsEmpty());
    if (gpus[0].taints.empty()) return "";
    EXPECT_EQ(gpus[0].taints[0].effect, "NoSchedule");
    return gpus[0].taints[0].key;
  };
  const auto health = [&] { return health_of(state_, {}, "gpu-n1")[0].reason; };
  EXPECT_EQ(taint(), "tranche.dev/mps") << "no daemon is known";
  const auto mps = [&]() -> MpsStanding& { return state_.edit<MpsStandings>()[{resource}]; };
  mps().trouble = "the supervisor of its MPS control daemon has ended";
  EXPECT_EQ(taint(), "tranche.dev/mps");
  EXPECT_EQ(health(), mps().trouble);
  mps().trouble.clear();
  EXPECT_EQ(taint(), "tranche.dev/mps") << "it has the limits of the device plugin";
  mps().service.open = true;
  EXPECT_EQ(taint(), "");
  EXPECT_EQ(health(), "");
}

}  // namespace
}  // namespace tranche::agent::claim_pool_test
