#include "offer/memory_enforcer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offer/make_offer.h"
#include "offer/testing.h"

namespace tranche::offer::memory_enforcer_test {
namespace {

using config::Limits;
using test::a100_40gb;
using test::gpu_uuid;
using test::machine_of;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace testing;  // NOLINT: the words of these tests

constexpr Limits kKernel{.enforcement = Enforcement::kStrict, .kernel_limits = true};

struct ChoiceCase {
  const char* name;
  Limits rules;
  EnforcerFacts facts;
  MemoryEnforcer expected;
};

TEST(MemoryEnforcers, TheHighestThatCanBeHadAndWasAskedFor) {
  Limits account = kKernel;
  account.enforcement = Enforcement::kAccount;
  Limits unlimited = kKernel;
  unlimited.memory = config::NoLimit{};
  const Limits plain{.enforcement = Enforcement::kStrict};
  const ChoiceCase cases[] = {
      {"nothing there", kKernel, {}, MemoryEnforcer::kLimiter},
      {"kernel", kKernel, {.by_kernel = true}, MemoryEnforcer::kKernel},
      {"not asked for", plain, {.by_kernel = true}, MemoryEnforcer::kLimiter},
      {"counted only", account, {.by_kernel = true}, MemoryEnforcer::kLimiter},
      {"no limit of memory", unlimited, {.by_kernel = true}, MemoryEnforcer::kLimiter},
      {"MIG above all", kKernel, {true, true, true}, MemoryEnforcer::kMig},
      {"MIG without being asked for", plain, {.is_own_instance = true}, MemoryEnforcer::kMig},
      {"kernel above MPS", kKernel, {.by_kernel = true, .by_mps = true}, MemoryEnforcer::kKernel},
      {"MPS above the limiter", plain, {.by_kernel = true, .by_mps = true}, MemoryEnforcer::kMps},
  };
  for (const auto& c : cases) EXPECT_EQ(choose_enforcer(c.rules, c.facts), c.expected) << c.name;
}

TEST(MemoryEnforcers, TheWeakestIsReportedForAll) {
  EXPECT_EQ(weakest({}), MemoryEnforcer::kLimiter);
  const std::vector all{MemoryEnforcer::kMig, MemoryEnforcer::kMps, MemoryEnforcer::kKernel};
  EXPECT_EQ(to_string(weakest(all)), "mps");
  EXPECT_EQ(to_string(weakest(std::span(all).first(1))), "mig");
}

// A node with all that kernel limits need. Each case takes something away.
gpu::Machine r615(int gpus = 1) {
  auto machine = machine_of(gpus, a100_40gb);
  machine.driver_version = "615.71.09";
  machine.host.cgroup_v2 = true;
  for (auto& gpu : machine.gpus) gpu.kernel_memory_limits = true;
  return machine;
}

config::Config asking(int replicas = 4) {
  auto config = with_mig(config::MigStrategy::kMixed, time_slicing({entry("gpu", replicas)}));
  config.tranche.limits.general = kKernel;
  return config;
}

TEST(MemoryEnforcersOfAnOffer, TheKernelEnforcesWhatItCan) {
  const auto offer = make_offer(r615(), asking(), {});
  const auto& limits = offer.resources.at(0).limits.value();
  EXPECT_THAT(limits.enforcers, ElementsAre(MemoryEnforcer::kKernel));
  EXPECT_EQ(limits.instead, "");
  EXPECT_THAT(offer.warnings, IsEmpty());
  const std::vector ids{replica_id(gpu_uuid(0), 0)};
  EXPECT_EQ(limits_for(offer.resources[0], ids)->devices.at(0).enforcer, MemoryEnforcer::kKernel);
}

struct InsteadCase {
  const char* name;
  std::function<void(gpu::Machine&)> change;
  const char* instead;
};

TEST(MemoryEnforcersOfAnOffer, TheReplacementIsReportedWithTheReason) {
  const InsteadCase cases[] = {
      {"an older driver",
       [](gpu::Machine& machine) {
         machine.driver_version = "570.158.01";
         machine.gpus[0].kernel_memory_limits = false;
       },
       "memory of nvidia.com/gpu is kept by the limiter, not by kernel limits: GPU 0 with driver "
       "570.158.01 has none; they begin with drivers of branch r615, on GPUs that are not in MIG "
       "mode"},
      {"cgroup v1", [](gpu::Machine& machine) { machine.host.cgroup_v2 = false; },
       "memory of nvidia.com/gpu is kept by the limiter, not by kernel limits: the node's control "
       "groups are not of version 2 alone; boot it with systemd.unified_cgroup_hierarchy=1"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    auto machine = r615();
    c.change(machine);
    const auto offer = make_offer(machine, asking(), {});
    const auto& limits = offer.resources.at(0).limits.value();
    EXPECT_THAT(limits.enforcers, ElementsAre(MemoryEnforcer::kLimiter));
    EXPECT_EQ(limits.instead, c.instead);
    EXPECT_THAT(offer.warnings, ElementsAre(c.instead));
    // Without kernel limits in the configuration there is no warning.
    auto config = asking();
    config.tranche.limits.general.kernel_limits = false;
    EXPECT_THAT(make_offer(machine, config, {}).warnings, IsEmpty());
  }
}

TEST(MemoryEnforcersOfAnOffer, AnUnsupportedGpuIsNamed) {
  auto machine = r615(2);
  machine.gpus[1].kernel_memory_limits = false;
  const auto offer = make_offer(machine, asking(), {});
  const auto& limits = offer.resources.at(0).limits.value();
  EXPECT_THAT(limits.enforcers, ElementsAre(MemoryEnforcer::kKernel, MemoryEnforcer::kLimiter));
  EXPECT_THAT(limits.instead, HasSubstr("GPU 1 with driver 615.71.09 has none"));
}

TEST(MemoryEnforcersOfAnOffer, MigInstancesOfTheirOwnNeedNoKernel) {
  auto machine = r615();
  machine.gpus = machine_of({a100_40gb(0).mig({"1g.5gb"})}).gpus;
  auto config = asking();
  auto offer = make_offer(machine, config, {});
  EXPECT_THAT(offer.resources.at(0).limits->enforcers, ElementsAre(MemoryEnforcer::kMig));
  EXPECT_THAT(offer.warnings, Contains(HasSubstr("kernel")).Times(0));
  // The kernel cannot limit the tranches of a shared instance.
  config.sharing.time_slicing->resources = {entry("mig-1g.5gb", 2)};
  offer = make_offer(machine, config, {});
  EXPECT_THAT(offer.resources.at(0).limits->enforcers, ElementsAre(MemoryEnforcer::kLimiter));
  EXPECT_THAT(offer.resources.at(0).limits->instead,
              HasSubstr("takes none for MIG instances such as 0:0"));
}

TEST(MemoryEnforcersOfAnOffer, TheHardwareDoesNotKeepComputeInstancesApart) {
  auto machine = r615();
  machine.gpus = machine_of({a100_40gb(0).mig({"1c.3g.20gb", "2c.3g.20gb"})}).gpus;
  const auto offer = make_offer(machine, asking(), {});
  for (const auto& resource : offer.resources) {
    EXPECT_THAT(resource.limits->enforcers, ElementsAre(MemoryEnforcer::kLimiter));
  }
}

}  // namespace
}  // namespace tranche::offer::memory_enforcer_test
