#include "agent/dra/claim_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    state_.claims.mode = NodeMode::kDra;
    state_.claims.mounts = offer::LimitMounts{"/lib.so", "/preload", "/tenants"};
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
  state_.promises.at_odds = {{.resource = {"nvidia.com/gpu"}, .id = uuid(1) + "::3"}};
  EXPECT_THAT(names(), ElementsAre("gpu-0", "gpu-2"));
  // A device that is allocated stays listed whatever else is said of it.
  EXPECT_THAT(names({claim(1)}), SizeIs(3));
}

TEST_F(ClaimPoolTest, InModeDevicePluginOnlyWhatClaimsHoldIsListedWithATaint) {
  state_.claims.mode = NodeMode::kDevicePlugin;
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

// A share that nobody limits is none.
TEST_F(ClaimPoolTest, WithoutLimitsOrTheGateNothingIsShared) {
  EXPECT_TRUE(make_claim_pool(state_, {}).gpus[0].shareable);
  const auto gate_off = make_claim_pool(state_, {.dropped = {.shares = true}}).gpus[0];
  EXPECT_FALSE(gate_off.shareable);
  EXPECT_FALSE(gate_off.capacity.at("memory").policy);
  state_.claims.mounts.reset();
  EXPECT_FALSE(make_claim_pool(state_, {}).gpus[0].shareable);
}

TEST_F(ClaimPoolTest, TellsAnotherOrderFromOtherDevices) {
  const auto before = make_claim_pool(state_, {});
  EXPECT_TRUE(differ_in_order_alone(before, make_claim_pool(state_, {.prepared = {claim(2)}})));
  state_.health = {{uuid(0), "XID 79"}};
  EXPECT_FALSE(differ_in_order_alone(before, make_claim_pool(state_, {})));
}

}  // namespace
}  // namespace tranche::agent::claim_pool_test
