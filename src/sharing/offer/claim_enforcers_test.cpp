#include "offer/claim_enforcers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offer/make_offer.h"
#include "offer/testing.h"

namespace tranche::offer::claim_enforcers_test {
namespace {

using ::testing::HasSubstr;
using namespace testing;  // NOLINT: the words of these tests
using test::gpu_uuid;

gpu::Machine r615(int gpus = 2) {
  auto machine = test::machine_of(gpus, test::a100_40gb);
  machine.driver_version = "615.71.09";
  machine.host.cgroup_v2 = true;
  for (auto& gpu : machine.gpus) gpu.kernel_memory_limits = true;
  return machine;
}

ClaimEnforcers enforcers(const config::Config& config, const gpu::Machine& machine) {
  return claim_enforcers(config.tranche.limits, machine, make_offer(machine, config, {}));
}

GrantLimits half(const std::string& uuid) {
  return {
      .enforcement = Enforcement::kStrict,
      .devices = {{.uuid = uuid, .memory = Bytes::from_mib(1024), .weight = 500, .permille = 500}}};
}

TEST(ClaimEnforcers, TheKernelWhereItWasAskedForAndCan) {
  config::Config config;
  EXPECT_EQ(enforcers(config, r615()).of(gpu_uuid(0)), GpuEnforcers());
  // Whether the device plugin's containers are limited does not matter.
  config.tranche.limits.general.kernel_limits = true;
  const auto by_kernel = enforcers(config, r615());
  EXPECT_EQ(by_kernel.of(gpu_uuid(0)).enforcer, MemoryEnforcer::kKernel);
  EXPECT_EQ(by_kernel.instead, "");
  const auto kept = kept_by(half(gpu_uuid(0)), by_kernel, false);
  EXPECT_EQ(kept.devices[0].enforcer, MemoryEnforcer::kKernel);
  EXPECT_EQ(kept.devices[0].permille, 500U);
  auto no_memory = half(gpu_uuid(0));
  no_memory.devices[0].memory.reset();
  EXPECT_EQ(kept_by(no_memory, by_kernel, false).devices[0].enforcer, MemoryEnforcer::kLimiter);
}

TEST(ClaimEnforcers, AnUnavailableKernelLimitIsReported) {
  config::Config config;
  config.tranche.limits.general.kernel_limits = true;
  auto old = r615();
  old.gpus[1].kernel_memory_limits = false;
  const auto enforcers_of_old = enforcers(config, old);
  EXPECT_EQ(enforcers_of_old.of(gpu_uuid(0)).enforcer, MemoryEnforcer::kKernel);
  EXPECT_EQ(enforcers_of_old.of(gpu_uuid(1)).enforcer, MemoryEnforcer::kLimiter);
  EXPECT_THAT(enforcers_of_old.instead,
              HasSubstr("memory of claims is kept by the limiter, not by kernel limits: GPU 1"));
  // A GPU divided for claims has no shares now.
  old.gpus[1].mig_mode = gpu::MigMode::kEnabled;
  EXPECT_EQ(enforcers(config, old).instead, "");
}

TEST(ClaimEnforcers, AnEntryIsForTheResourceThatTheGpuWouldBe) {
  auto config = time_slicing({entry("gpu", 2, config::AllDevices{}, "shared")});
  config.tranche.limits.resources = {
      {.name = {"nvidia.com/shared"}, .limits = {.kernel_limits = true, .runtime_hook = true}}};
  const auto entry_of_shared = enforcers(config, r615());
  EXPECT_EQ(entry_of_shared.of(gpu_uuid(0)).enforcer, MemoryEnforcer::kKernel);
  EXPECT_TRUE(entry_of_shared.wants_hook());
  config.tranche.limits.resources[0].name = {"nvidia.com/gpu"};
  EXPECT_FALSE(enforcers(config, r615()).wants_hook());
}

TEST(ClaimEnforcers, MpsHoldsItsClientsAndTheLimiterCountsTheContainer) {
  const auto config = mps({entry("gpu", 4, config::DeviceList{{"0"}})});
  const auto by_mps = enforcers(config, r615());
  EXPECT_EQ(by_mps.of(gpu_uuid(0)).mps, "nvidia.com/gpu");
  EXPECT_EQ(by_mps.of(gpu_uuid(0)).enforcer, MemoryEnforcer::kMps);
  EXPECT_EQ(by_mps.of(gpu_uuid(1)), GpuEnforcers()) << "it is whole";
  const auto kept = kept_by(half(gpu_uuid(0)), by_mps, true);
  EXPECT_EQ(kept.devices[0].enforcer, MemoryEnforcer::kMps);
  EXPECT_EQ(kept.devices[0].memory, Bytes::from_mib(1024));
  EXPECT_EQ(kept.devices[0].permille, std::nullopt);
  EXPECT_EQ(kept.priority, Priority::kLatencyCritical);
  // Containers created before.
  const auto before = kept_by(half(gpu_uuid(0)), by_mps, false);
  EXPECT_EQ(before, half(gpu_uuid(0)));
}

TEST(ClaimEnforcers, WithClassesTheLimiterGivesTurnsUnderMpsToo) {
  auto config = mps({entry("gpu", 4)});
  config.tranche.limits.general.policy = config::SharePolicy::kPriority;
  const auto kept = kept_by(half(gpu_uuid(0)), enforcers(config, r615()), true);
  EXPECT_EQ(kept.devices[0].permille, 500U);
  EXPECT_EQ(kept.priority, Priority::kNormal);
}

}  // namespace
}  // namespace tranche::offer::claim_enforcers_test
