#include "agent/dra/claim_tenants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/machines.h"

namespace tranche::agent::claim_tenants_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kUid = "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a";
constexpr const char* kShare = "7d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e0f";

dra::PreparedDevice share(const std::string& uuid) {
  return {.request = "gpu",
          .pool = "gpu-n1",
          .device = "gpu-0",
          .share_id = kShare,
          .uuid = uuid,
          .part = dra::ConsumedPart{.memory = Bytes::from_mib(1000), .percent = 50},
          .limits = GrantLimits{
              .enforcement = Enforcement::kStrict,
              .devices = {
                  {.uuid = uuid, .memory = Bytes::from_mib(800), .weight = 500, .permille = 500}}}};
}

ClaimNode node_of(gpu::Machine machine) {
  return {.machine = std::move(machine),
          .files = {},
          .options = {},
          .limits = {},
          .facts = {.driver = "gpu.nvidia.com", .pool = "gpu-n1", .boot = "b", .no_limits = ""}};
}

TEST(ClaimTenants, HaveWhatTheyArePromisedAndTheMostThatTheyMayHave) {
  const auto machine = test::machine_of({test::l20(0)});
  const auto& uuid = machine.gpus[0].uuid.value;
  dra::PreparedDevice unlimited{
      .request = "whole", .pool = "gpu-n1", .device = "gpu-1", .uuid = "GPU-x"};
  auto monitor = unlimited;
  monitor.request = "monitor";
  monitor.admin_access = true;
  const auto tenants = claim_tenants({{.ns = "shop",
                                       .name = "half",
                                       .uid = kUid,
                                       .boot = "b",
                                       .devices = {share(uuid), unlimited, monitor}}},
                                     node_of(machine));
  ASSERT_THAT(tenants, SizeIs(1));
  EXPECT_EQ(tenants[0].id, kShare);
  EXPECT_EQ(tenants[0].limits.devices.at(0).memory, Bytes::from_mib(800));
  EXPECT_EQ(tenants[0].most.at(0).memory, Bytes::from_mib(1000));
  EXPECT_EQ(tenants[0].most.at(0).permille, 500U);
  EXPECT_EQ(tenants[0].devices.at(0).memory.mib(), machine.gpus[0].memory.mib());
}

TEST(ClaimTenants, SharesThatWentTogetherAreOne) {
  const auto machine = test::machine_of({test::l20(0)});
  const auto& uuid = machine.gpus[0].uuid.value;
  auto other = share(uuid);
  other.request = "more";
  other.share_id = "8d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e00";
  other.joined = kShare;
  const auto tenants = claim_tenants(
      {{.ns = "shop", .name = "two", .uid = kUid, .boot = "b", .devices = {share(uuid), other}}},
      node_of(machine));
  ASSERT_THAT(tenants, SizeIs(1));
  EXPECT_EQ(tenants[0].limits.devices.at(0).memory, Bytes::from_mib(1600));
  EXPECT_EQ(tenants[0].most.at(0).memory, Bytes::from_mib(2000));
  EXPECT_EQ(tenants[0].most.at(0).permille, std::nullopt) << "twice a half";
}

// The record is older than the present enforcer.
TEST(ClaimTenants, AreKeptByWhatTheNodeHasNow) {
  auto node = node_of(test::machine_of({test::l20(0)}));
  const auto& uuid = node.machine.gpus[0].uuid.value;
  node.enforcers.gpus[uuid].enforcer = MemoryEnforcer::kKernel;
  const auto tenants = claim_tenants(
      {{.ns = "shop", .name = "half", .uid = kUid, .boot = "b", .devices = {share(uuid)}}}, node);
  ASSERT_THAT(tenants, SizeIs(1));
  EXPECT_EQ(tenants[0].limits.devices.at(0).enforcer, MemoryEnforcer::kKernel);
}

// Its file must not be taken for an orphan.
TEST(ClaimTenants, OneWhoseInstanceIsNotMadeYetIsKnownWithoutDevices) {
  auto device = share("");
  device.place = dra::MigPlace{.gpu = {"GPU-a"}, .profile_id = 19, .at = {0, 1}};
  const auto tenants =
      claim_tenants({{.ns = "shop", .name = "mig", .uid = kUid, .boot = "b", .devices = {device}}},
                    node_of(test::machine_of({test::l20(0)})));
  ASSERT_THAT(tenants, SizeIs(1));
  EXPECT_THAT(tenants[0].limits.devices, IsEmpty());
}

}  // namespace
}  // namespace tranche::agent::claim_tenants_test
