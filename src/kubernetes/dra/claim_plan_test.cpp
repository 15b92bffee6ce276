#include "dra/claim_plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dra/claim_conflicts.h"
#include "dra/testing.h"

namespace tranche::dra::claim_plan_test {
namespace {

using namespace testing_;  // NOLINT: the words of these tests
using ::testing::HasSubstr;

TEST(ClaimPlan, HalfAGpuIsLimitedToHalf) {
  const auto machine = test::machine_of({test::l20(0)});
  const auto plan = plan_claim(claim_of({share("gpu-0", 23034, 50)}), machine, kFacts);
  ASSERT_TRUE(plan) << plan.error().message();
  const DeviceLimits half{
      .uuid = test::gpu_uuid(0), .memory = Bytes::from_mib(23034), .weight = 500, .permille = 500};
  EXPECT_EQ(
      *plan,
      (PreparedClaim{
          .ns = "team",
          .name = "c",
          .uid = kUid,
          .boot = "boot-1",
          .devices = {{.request = "gpu",
                       .pool = "gpu-n1",
                       .device = "gpu-0",
                       .share_id = kShare,
                       .uuid = test::gpu_uuid(0),
                       .part = ConsumedPart{Bytes::from_mib(23034), 50},
                       .limits = GrantLimits{Enforcement::kStrict, Priority::kNormal, {half}}}},
          .driver = "gpu.nvidia.com"}));
}

// Allocated before an update, from the pool by its name of then.
TEST(ClaimPlan, ADeviceOfTheFormerPoolIsOurs) {
  const auto machine = test::machine_of({test::l20(0)});
  auto facts = kFacts;
  facts.former_pool = facts.pool;
  facts.pool = "gpu-n1/gpu.nvidia.com";
  const auto plan = plan_claim(claim_of({share("gpu-0", 23034, 50)}), machine, facts).value();
  ASSERT_EQ(plan.devices.size(), 1U);
  EXPECT_EQ(plan.devices[0].pool, "gpu-n1");
}

TEST(ClaimPlan, AShareOfEverythingIsTheWholeGpu) {
  const auto machine = test::machine_of({test::l20(0)});
  auto facts = kFacts;
  facts.no_limits = "no arbiter";  // a whole GPU needs none
  const auto plan = plan_claim(claim_of({share("gpu-0", 46068, 100)}), machine, facts).value();
  EXPECT_EQ(plan.devices[0].share_id, kShare) << "kubelet tells shares apart by it";
  EXPECT_FALSE(plan.devices[0].limits);
}

// Programs can use 45444 of 46068 MiB. Claims allocated from the GPU's size remain valid.
TEST(ClaimPlan, TheWholeIsWhatProgramsCanHave) {
  const auto machine = test::machine_of({test::l20(0).reserved_mib(624)});
  const auto part_of = [&](std::uint64_t mib, int percent) {
    return plan_claim(claim_of({share("gpu-0", mib, percent)}), machine, kFacts);
  };
  for (const std::uint64_t all : {45444, 46068}) {
    EXPECT_FALSE(part_of(all, 100).value().devices[0].part) << all;
    EXPECT_FALSE(part_of(all, 50).value().devices[0].limits->devices[0].memory) << all;
  }
  EXPECT_EQ(part_of(45443, 50).value().devices[0].limits->devices[0].memory,
            Bytes::from_mib(45443));
  EXPECT_FALSE(part_of(46069, 50)) << "more than there ever was";
  const auto half = part_of(23034, 50).value();
  auto other = claim_of({share("gpu-0", 23034, 50, "8d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e0f")});
  other.uid = "1d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e0f";
  EXPECT_TRUE(check_conflicts(plan_claim(other, machine, kFacts).value(), {half}, machine))
      << "the scheduler gave both when it was told 46068";
}

// Like the device plugin: if the node's configuration limits the resource.
TEST(ClaimPlan, AWholeGpuIsStartedWithTheLimiterWhereItsResourceHasLimits) {
  const auto machine = test::machine_of({test::l20(0), test::a100_40gb(1).mig({"1g.5gb"})});
  auto facts = kFacts;
  facts.of_whole = Enforcement::kAccount;
  const GrantLimits open{.enforcement = Enforcement::kAccount,
                         .devices = {{.uuid = test::gpu_uuid(0), .weight = 1000}}};
  for (const auto& whole : {allocated("gpu-0"), share("gpu-0", 46068, 100)}) {
    EXPECT_EQ(plan_claim(claim_of({whole}), machine, facts).value().devices[0].limits, open);
  }
  const auto half = plan_claim(claim_of({share("gpu-0", 23034, 50)}), machine, facts).value();
  EXPECT_EQ(half.devices[0].limits->enforcement, Enforcement::kStrict);
  const auto instance = claim_of({allocated("gpu-1-mig-1g5gb-gi1-ci0")});
  EXPECT_FALSE(plan_claim(instance, machine, facts).value().devices[0].limits);
  auto monitor = allocated("gpu-0");
  monitor.admin_access = true;
  EXPECT_FALSE(plan_claim(claim_of({monitor}), machine, facts).value().devices[0].limits);
  facts.no_limits = "no arbiter";
  EXPECT_FALSE(
      plan_claim(claim_of({allocated("gpu-0")}), machine, facts).value().devices[0].limits);
}

TEST(ClaimPlan, TheDeviceForAdminsIsForAdminAccessAlone) {
  const auto machine = test::machine_of({test::l20(0)});
  auto device = allocated("gpu-0-admin");
  const auto ordinary = plan_claim(claim_of({device}), machine, kFacts);
  ASSERT_FALSE(ordinary);
  EXPECT_EQ(ordinary.error().code, Code::kInvalidArgument);
  device.admin_access = true;
  const auto monitor = plan_claim(claim_of({device}), machine, kFacts).value().devices.at(0);
  EXPECT_EQ(monitor.uuid, test::gpu_uuid(0));
  EXPECT_TRUE(monitor.admin_access);
}

// All of the memory and a part of the time, or vice versa.
TEST(ClaimPlan, TheWholeIsNotLimited) {
  const auto machine = test::machine_of({test::l20(0)});
  const auto time = plan_claim(claim_of({share("gpu-0", 46068, 30)}), machine, kFacts).value();
  EXPECT_FALSE(time.devices[0].limits->devices[0].memory);
  EXPECT_EQ(time.devices[0].limits->devices[0].permille, 300U);
  const auto memory = plan_claim(claim_of({share("gpu-0", 1024, 100)}), machine, kFacts).value();
  EXPECT_EQ(memory.devices[0].limits->devices[0].memory, Bytes::from_mib(1024));
  EXPECT_FALSE(memory.devices[0].limits->devices[0].permille);
}

TEST(ClaimPlan, InstancesAreFoundAndOtherDriversDevicesOmitted) {
  const auto machine =
      test::machine_of({test::a100_40gb(0).mig({"1g.5gb", "2g.10gb"}), test::l20(1)});
  auto foreign = allocated("gpu-1");
  foreign.driver = "other.example.com";
  foreign.pool = "gpu-n2";
  const auto plan =
      plan_claim(claim_of({allocated("gpu-0-mig-2g10gb-gi2-ci0"), foreign}), machine, kFacts)
          .value();
  ASSERT_EQ(plan.devices.size(), 1U);
  EXPECT_EQ(plan.devices[0].uuid, test::mig_uuid(0, 1));
  EXPECT_FALSE(plan.devices[0].limits);
}

// A Pod with spec.nodeName, or the second of two Pods with one claim. It would run without a GPU.
TEST(ClaimPlan, DevicesOfAnotherNodeAreAnError) {
  const auto machine = test::machine_of({test::l20(0), test::l20(1)});
  auto elsewhere = allocated("gpu-1");
  elsewhere.pool = "gpu-n2";
  for (const auto& devices : {std::vector{elsewhere}, std::vector{allocated("gpu-0"), elsewhere}}) {
    const auto refused = plan_claim(claim_of(devices), machine, kFacts);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(refused.error().message(),
                HasSubstr("gpu-1: it is of pool gpu-n2, and this node, n1, has pool gpu-n1"));
    EXPECT_THAT(refused.error().message(), HasSubstr("delete the Pod"));
  }
}

// NVIDIA's driver names the pool by the node, and the devices almost as we do.
TEST(ClaimPlan, ClaimsOfNvidiasDriverAreTakenWhereTheirDevicesAreKnown) {
  const auto machine = test::machine_of({test::l20(0), test::a100_40gb(1).mig({"1g.5gb"})});
  auto gpu = allocated("gpu-0");
  gpu.pool = "n1";
  const auto plan = plan_claim(claim_of({gpu}), machine, kFacts);
  ASSERT_TRUE(plan) << plan.error().message();
  ASSERT_EQ(plan->devices.size(), 1U);
  EXPECT_EQ(plan->devices[0].uuid, test::gpu_uuid(0));
  EXPECT_EQ(plan->devices[0].pool, "n1") << "kubelet compares it with the claim";
  auto instance = allocated("gpu-1-mig-1g5gb-19-6");
  instance.pool = "n1";
  const auto refused = plan_claim(claim_of({instance}), machine, kFacts);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("delete the Pod and its claim"));
}

// --- places -------------------------------------------------------------------------------------

TEST(ClaimPlan, APlaceIsPlannedWhereInstancesAreCreated) {
  const auto machine = cut_machine();
  const auto facts = cut_facts(machine);
  auto plan = plan_claim(claim_of({allocated(kSmall)}), machine, facts);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->devices.at(0).uuid, "");
  EXPECT_EQ(plan->devices[0].place, (MigPlace{machine.gpus[0].uuid, 19, {3, 1}}));
  for (const auto* name :
       {"gpu-1-mig-1g10gb-19-3", "gpu-0-mig-1g10gb-19-7", "gpu-0-mig-1g10gb-9-0"}) {
    EXPECT_FALSE(plan_claim(claim_of({allocated(name)}), machine, facts)) << name;
  }
  const auto other = plan_claim(claim_of({allocated("gpu-1-mig-1g10gb-19-3")}), machine, facts);
  EXPECT_THAT(other.error().message(), HasSubstr("no instances are made for claims on this GPU"));
}

TEST(ClaimPlan, LimitsOfAPlaceAreItsInstancesOnceCreated) {
  const auto machine = cut_machine();
  auto claim = claim_of({allocated(kSmall)});
  claim.configs = {{false, {}, "gpu.nvidia.com", R"({"apiVersion": "resource.nvidia.com/v1beta1",
      "kind": "MigDeviceConfig", "sharing": {"strategy": "MPS",
      "mpsConfig": {"defaultActiveThreadPercentage": 50}}})"}};
  auto plan = plan_claim(claim, machine, cut_facts(machine));
  ASSERT_TRUE(plan) << plan.error().message();
  auto& device = plan->devices.at(0);
  EXPECT_EQ(device.limits.value().devices.at(0).uuid, machine.gpus[0].uuid.value);
  fill_uuid(device, "MIG-7");
  EXPECT_EQ(device.limits.value().devices.at(0).uuid, "MIG-7");
}

struct RefusalCase {
  const char* name;
  ResourceClaim claim;
  Code code;
  const char* says;
};

TEST(ClaimPlan, Refuses) {
  const auto machine = test::machine_of({test::l20(0), test::t4(1).lost("fell off the bus")});
  auto unallocated = claim_of({});
  unallocated.allocated = false;
  auto odd_uid = claim_of({});
  odd_uid.uid = "../../etc";
  auto no_memory = share("gpu-0", 0, 50);
  no_memory.consumed.erase("memory");
  auto foreign = allocated("gpu-0");
  foreign.driver = "other.example.com";
  const RefusalCase cases[] = {
      {"nothing of ours", claim_of({foreign}), Code::kFailedPrecondition,
       "no device of driver gpu.nvidia.com"},
      {"no allocation", unallocated, Code::kFailedPrecondition, "the claim has no allocation"},
      {"a uid that is a path", odd_uid, Code::kInvalidArgument, "no UUID"},
      {"no such device", claim_of({allocated("gpu-7")}), Code::kNotFound,
       "gpu-7: this node has no"},
      {"a lost GPU", claim_of({allocated("gpu-1")}), Code::kUnavailable, "fell off the bus"},
      {"a share without memory", claim_of({no_memory}), Code::kInvalidArgument, "has no memory"},
      {"a share without time", claim_of({share("gpu-0", 1024, 0)}), Code::kInvalidArgument,
       "has no compute"},
      {"more than the GPU", claim_of({share("gpu-0", 46069, 50)}), Code::kInvalidArgument,
       "more than the GPU"},
      {"a share id that is a path", claim_of({share("gpu-0", 1024, 50, "../x")}),
       Code::kInvalidArgument, "no UUID"},
  };
  for (const auto& one : cases) {
    const auto plan = plan_claim(one.claim, machine, kFacts);
    ASSERT_FALSE(plan) << one.name;
    EXPECT_EQ(plan.error().code, one.code) << one.name;
    EXPECT_THAT(plan.error().message(), HasSubstr(one.says)) << one.name;
  }
  auto facts = kFacts;
  facts.no_limits = "no arbiter runs on this node";
  const auto unlimited = plan_claim(claim_of({share("gpu-0", 1024, 50)}), machine, facts);
  ASSERT_FALSE(unlimited);
  EXPECT_THAT(unlimited.error().message(), HasSubstr("no arbiter runs on this node"));
}

std::string mps(int threads) {
  return fmt::format(R"({{"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig",
      "sharing": {{"strategy": "MPS", "mpsConfig": {{"defaultActiveThreadPercentage": {}}}}}}})",
                     threads);
}

std::string pinned(const std::string& memory) {
  return fmt::format(R"({{"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig",
      "sharing": {{"strategy": "MPS", "mpsConfig": {{{}}}}}}})",
                     memory);
}

// A claim's author never gets more than the scheduler counted.
TEST(ClaimPlan, AConfigurationBeyondTheShareIsRefused) {
  const auto machine = test::machine_of({test::l20(0)});
  auto claim = claim_of({share("gpu-0", 23034, 50)});
  const struct {
    const char* name;
    std::string parameters;
    const char* why;
  } cases[] = {
      {"threads", mps(51), "asks for 51 % of active threads, and its share has 50 % of compute"},
      {"memory", pinned(R"("defaultPinnedDeviceMemoryLimit": "23035Mi")"),
       "asks for 23035 MiB of memory, and its share has 23034 MiB"},
      {"of one device", pinned(R"("defaultPerDevicePinnedMemoryLimit": {"0": "40Gi"})"),
       "asks for 40960 MiB of memory"},
  };
  for (const auto& [name, parameters, why] : cases) {
    claim.configs = {{false, {}, "gpu.nvidia.com", parameters}};
    const auto refused = plan_claim(claim, machine, kFacts);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument) << name;
    EXPECT_THAT(refused.error().message(), HasSubstr(why)) << name;
    EXPECT_THAT(refused.error().message(), HasSubstr("a configuration only lowers")) << name;
    claim.configs[0].from_class = true;
    const auto of_class = plan_claim(claim, machine, kFacts);
    ASSERT_TRUE(of_class) << name << ": a DeviceClass's is for claims of any size";
    EXPECT_EQ(of_class->devices[0].limits->devices[0].permille, 500U) << name;
    EXPECT_EQ(of_class->devices[0].limits->devices[0].memory, Bytes::from_mib(23034)) << name;
  }
  claim.configs = {{false, {}, "gpu.nvidia.com", mps(50)}};
  EXPECT_TRUE(plan_claim(claim, machine, kFacts)) << "the same is no more";
}

TEST(ClaimPlan, TheConfigurationLowers) {
  const auto machine = test::machine_of({test::l20(0)});
  auto claim = claim_of({share("gpu-0", 23034, 50)});
  claim.configs = {{false, {}, "gpu.nvidia.com", mps(20)}};
  const auto less = plan_claim(claim, machine, kFacts).value().devices.at(0);
  EXPECT_EQ(less.limits->devices[0].permille, 200U);
  EXPECT_EQ(less.part->percent, 50U) << "what is left over is nobody else's";

  auto whole = claim_of({allocated("gpu-0")});
  whole.configs = claim.configs;
  const auto plan = plan_claim(whole, machine, kFacts).value();
  EXPECT_FALSE(plan.devices[0].part);
  EXPECT_EQ(plan.devices[0].limits->devices[0].permille, 200U);
  EXPECT_EQ(tenant_of(plan, plan.devices[0]), std::string(kUid) + "-gpu-0");
  auto beside = plan_claim(claim_of({share("gpu-0", 1, 1)}), machine, kFacts).value();
  beside.uid = "other";
  EXPECT_FALSE(check_conflicts(plan, {beside}, machine)) << "the claim has all of it all the same";
}

// Who may claim from the class must not be able to undo it.
TEST(ClaimPlan, AClaimsConfigurationDoesNotUndoItsClasss) {
  const auto machine = test::machine_of({test::l20(0)});
  auto claim = claim_of({allocated("gpu-0")});
  constexpr auto kEmpty = R"({"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"})";
  const struct {
    const char* name;
    std::vector<cluster::ClaimConfig> configs;
  } cases[] = {
      {"empty",
       {{true, {"gpu"}, "gpu.nvidia.com", mps(20)}, {false, {}, "gpu.nvidia.com", kEmpty}}},
      {"more", {{true, {}, "gpu.nvidia.com", mps(20)}, {false, {}, "gpu.nvidia.com", mps(90)}}},
      {"less", {{true, {}, "gpu.nvidia.com", mps(90)}, {false, {}, "gpu.nvidia.com", mps(20)}}},
      // Before Kubernetes 1.35 every class of the claim is for all of its requests.
      {"another class",
       {{true, {}, "gpu.nvidia.com", mps(20)}, {true, {}, "gpu.nvidia.com", kEmpty}}},
  };
  for (const auto& [name, configs] : cases) {
    claim.configs = configs;
    const auto plan = plan_claim(claim, machine, kFacts);
    ASSERT_TRUE(plan) << name << plan.error().message();
    ASSERT_TRUE(plan->devices[0].limits) << name;
    EXPECT_EQ(plan->devices[0].limits->devices[0].permille, 200U) << name;
  }
}

TEST(ClaimPlan, AConfigurationIsForTheDevicesOfItsKind) {
  const auto machine = test::machine_of({test::l20(0), test::a100_40gb(1).mig({"1g.5gb"})});
  auto instance = allocated("gpu-1-mig-1g5gb-gi1-ci0");
  instance.request = "mig";
  auto claim = claim_of({allocated("gpu-0"), instance});
  claim.configs = {{false, {}, "gpu.nvidia.com", mps(50)}};
  const auto plan = plan_claim(claim, machine, kFacts);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->devices[0].limits->devices[0].permille, 500U);
  EXPECT_FALSE(plan->devices[1].limits);
  claim.configs = {{false, {"gpu", "mig"}, "gpu.nvidia.com", mps(50)}};
  const auto refused = plan_claim(claim, machine, kFacts);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(),
              HasSubstr("for gpu, mig is a GpuConfig, and gpu-1-mig-1g5gb-gi1-ci0 is a MIG"));
  // The scheduler writes the names of requests into a class's.
  claim.configs[0].from_class = true;
  EXPECT_TRUE(plan_claim(claim, machine, kFacts));
  claim.configs[0].parameters = "{}";
  EXPECT_FALSE(plan_claim(claim, machine, kFacts));
}

TEST(ClaimPlan, AnIndexCountsTheDevicesOfItsConfiguration) {
  const auto machine = test::machine_of({test::l20(0), test::l20(1), test::l20(2)});
  auto last = allocated("gpu-2");
  auto middle = allocated("gpu-1");
  last.request = middle.request = "pair";
  auto claim = claim_of({allocated("gpu-0"), last, middle});
  claim.configs = {
      {false,
       {"pair"},
       "gpu.nvidia.com",
       pinned(R"("defaultPerDevicePinnedMemoryLimit": {"0": 1073741824, "1": "2Gi"})")}};
  const auto plan = plan_claim(claim, machine, kFacts);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_FALSE(plan->devices[0].limits);
  ASSERT_TRUE(plan->devices[1].limits && plan->devices[2].limits);
  EXPECT_EQ(plan->devices[1].limits->devices[0].memory, Bytes::from_mib(2048));
  EXPECT_EQ(plan->devices[2].limits->devices[0].memory, Bytes::from_mib(1024))
      << "in the order of UUIDs, as in NVIDIA's driver";
}

TEST(ClaimPlan, TwoSharesOfAClaimAreNotMoreThanTheGpu) {
  const auto machine = test::machine_of({test::l20(0)});
  const auto with = [&](std::uint64_t mib, int percent) {
    return plan_claim(claim_of({share("gpu-0", 23034, 50),
                                share("gpu-0", mib, static_cast<std::uint64_t>(percent),
                                      "8d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e0f")}),
                      machine, kFacts);
  };
  EXPECT_TRUE(with(23034, 50));
  for (const auto& refused : {with(23035, 50), with(23034, 51)}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_THAT(refused.error().message(), HasSubstr("shares of gpu-0 are more than the GPU: "));
  }
}

TEST(ClaimPlan, MpsDevicesArePreparedOnlyWhileMpsServes) {
  const auto machine = test::machine_of({test::l20(0), test::l20(1)});
  auto facts = kFacts;
  facts.mps = {{test::gpu_uuid(0), "nvidia.com/gpu"}};
  facts.mps_troubles = {{test::gpu_uuid(0), "its MPS control daemon does not serve"}};
  const auto refused = plan_claim(claim_of({share("gpu-0", 1024, 30)}), machine, facts);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message(),
              HasSubstr("gpu-0: nvidia.com/gpu: its MPS control daemon"));
  const auto other = plan_claim(claim_of({share("gpu-1", 1024, 30)}), machine, facts);
  ASSERT_TRUE(other) << other.error().message();
  EXPECT_EQ(other->devices[0].mps, "");
  facts.mps_troubles.clear();
  for (const auto& device : {share("gpu-0", 1024, 30), allocated("gpu-0")}) {
    EXPECT_EQ(plan_claim(claim_of({device}), machine, facts)->devices[0].mps, "nvidia.com/gpu");
  }
  // A claim for monitoring is not a client.
  auto watcher = allocated("gpu-0");
  watcher.admin_access = true;
  EXPECT_EQ(plan_claim(claim_of({watcher}), machine, facts)->devices[0].mps, "");
}

}  // namespace
}  // namespace tranche::dra::claim_plan_test
