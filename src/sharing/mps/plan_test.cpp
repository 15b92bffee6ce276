#include "mps/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mps/protocol2/commands.h"
#include "offer/make_offer.h"
#include "offer/testing.h"

namespace tranche::mps::plan_test {
namespace {

using config::ComputeLimit;
using config::DeviceList;
using config::MemoryLimit;
using offer::testing::entry;
using offer::testing::resource;
using test::a100_40gb;
using test::gpu_uuid;
using test::GpuBuilder;
using test::machine_of;
using test::t4;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Plan planned(const gpu::Machine& machine, const config::Config& config) {
  return make_plan(machine, offer::make_offer(machine, config, {}));
}

Daemon only(const gpu::Machine& machine, const config::Config& config) {
  const auto plan = planned(machine, config);
  if (plan.size() != 1) throw std::runtime_error("not one daemon");
  return plan.front();
}

config::Config limited(int replicas, const config::Limits& rules, bool one_only) {
  auto config = offer::testing::mps({entry("gpu", replicas)});
  config.sharing.mps->fail_requests_greater_than_one = one_only;
  config.tranche.limits.general = rules;
  return config;
}

TEST(Plan, HasNvidiasCommands) {
  struct Row {
    std::string name;
    gpu::Machine machine;
    int replicas;
    std::vector<std::string> commands;
  };
  const std::vector<Row> rows = {
      {"2 of a T4",
       machine_of({t4(0)}),
       2,
       {"set_default_device_pinned_mem_limit 0 7680M", "set_default_active_thread_percentage 50"}},
      {"7: whole MiB, whole percents",
       machine_of({t4(0).memory_mib(15109)}),
       7,
       {"set_default_device_pinned_mem_limit 0 2158M", "set_default_active_thread_percentage 14"}},
      {"two GPUs",
       machine_of({a100_40gb(0), a100_40gb(1)}),
       4,
       {"set_default_device_pinned_mem_limit 0 10240M",
        "set_default_device_pinned_mem_limit 1 10240M", "set_default_active_thread_percentage 25"}},
      {"memory that is not told",
       machine_of({t4(0).memory_mib(0)}),
       4,
       {"set_default_active_thread_percentage 25"}},
      {"48 replicas",
       machine_of({t4(0)}),
       48,
       {"set_default_device_pinned_mem_limit 0 320M", "set_default_active_thread_percentage 2"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto daemon = only(row.machine, offer::testing::mps({entry("gpu", row.replicas)}));
    EXPECT_EQ(default_commands(daemon), row.commands);
  }
}

TEST(Plan, TakesThePartsOfTheLimits) {
  struct Row {
    std::string name;
    config::Limits rules;
    bool one_only;
    std::vector<std::string> commands;
  };
  const MemoryLimit two_gib = Bytes::from_mib(2048);
  const ComputeLimit fifth = config::Percent{200};
  const std::vector<Row> rows = {
      {"only counted",
       {.enforcement = Enforcement::kAccount, .memory = two_gib, .compute = fifth},
       true,
       {"set_default_device_pinned_mem_limit 0 3840M", "set_default_active_thread_percentage 25"}},
      {"strict",
       {.enforcement = Enforcement::kStrict, .memory = two_gib, .compute = fifth},
       true,
       {"set_default_device_pinned_mem_limit 0 2048M", "set_default_active_thread_percentage 20"}},
      {"elastic: what others leave may be used",
       {.enforcement = Enforcement::kElastic, .memory = two_gib, .compute = fifth},
       true,
       {"set_default_device_pinned_mem_limit 0 2048M", "set_default_active_thread_percentage 100"}},
      {"no limits of either",
       {.enforcement = Enforcement::kStrict,
        .memory = config::NoLimit{},
        .compute = config::NoLimit{}},
       true,
       {"set_default_active_thread_percentage 100"}},
      {"several for one container: its own environment lowers what the daemon leaves open",
       {.enforcement = Enforcement::kStrict, .memory = two_gib, .compute = fifth},
       false,
       {"set_default_active_thread_percentage 100"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto daemon = only(machine_of({t4(0)}), limited(4, row.rules, row.one_only));
    EXPECT_EQ(default_commands(daemon), row.commands);
  }
}

TEST(Plan, OneDaemonForEachResourceWithItsOwnGpus) {
  const auto machine = machine_of({t4(0), t4(1), t4(2)});
  const auto plan =
      planned(machine, offer::testing::mps({entry("gpu", 4, DeviceList{{"2", "0"}}, "gpu.small"),
                                            entry("gpu", 2, DeviceList{{"1"}}, "gpu.large")}));
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[0].resource, resource("gpu.large"));
  EXPECT_EQ(plan[1].resource, resource("gpu.small"));
  EXPECT_FALSE(plan[1].sees_all);
  // The daemon has only its own GPUs, and counts them from 0.
  EXPECT_EQ(environment_of("/mps", plan[1]),
            (std::map<std::string, std::string>{
                {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                {"CUDA_MPS_LOG_DIRECTORY", "/mps/nvidia.com/gpu.small/log"},
                {"CUDA_MPS_PIPE_DIRECTORY", "/mps/nvidia.com/gpu.small/pipe"},
                {"CUDA_VISIBLE_DEVICES", gpu_uuid(0) + "," + gpu_uuid(2)},
            }));
  EXPECT_THAT(default_commands(plan[1]), ElementsAre("set_default_device_pinned_mem_limit 0 3840M",
                                                     "set_default_device_pinned_mem_limit 1 3840M",
                                                     "set_default_active_thread_percentage 25"));
}

TEST(Plan, HasDaemonsOnlyForMps) {
  const auto machine = machine_of({t4(0), t4(1)});
  EXPECT_THAT(planned(machine, {}), IsEmpty());
  EXPECT_THAT(planned(machine, offer::testing::time_slicing({entry("gpu", 4)})), IsEmpty());
  EXPECT_THAT(planned(machine, offer::testing::mps({entry("gpu", 1)})), IsEmpty());
  EXPECT_THAT(planned(machine, offer::testing::mps({entry("gpu", 49)})), IsEmpty());
}

TEST(Plan, LeavesOutWholeDevicesOfASharedResource) {
  // Without a rename the GPU that the entry does not name stays nvidia.com/gpu, whole.
  const auto daemon =
      only(machine_of({t4(0), t4(1)}), offer::testing::mps({entry("gpu", 2, DeviceList{{"1"}})}));
  ASSERT_EQ(daemon.devices.size(), 1U);
  EXPECT_EQ(daemon.devices[0].uuid, gpu_uuid(1));
}

// Claims have shares of any size.
TEST(Plan, LimitsAreOpenForAResourceOfClaims) {
  const auto machine = machine_of(2, a100_40gb);
  const auto config = offer::testing::mps({entry("gpu", 4)});
  const auto offer = offer::make_offer(machine, config, {});
  const config::MpsControlRules rules{.protocol = 2, .sm_partitions = config::EqualChunks{}};
  const auto plan = make_plan(machine, offer, rules, {"nvidia.com/gpu"});
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_TRUE(plan[0].open);
  EXPECT_EQ(plan[0].thread_percentage, 100);
  EXPECT_EQ(plan[0].devices[1].limit_mib, std::nullopt);
  EXPECT_FALSE(has_partitions(plan[0]));
  EXPECT_FALSE(make_plan(machine, offer, rules, {"nvidia.com/other"})[0].open);
  const auto third =
      make_plan(machine, offer, {.protocol = 3, .sm_partitions = {}}, {"nvidia.com/gpu"});
  for (const auto& one : third[0].namespaces) {
    EXPECT_EQ(one.limit_mib, std::nullopt);
    EXPECT_EQ(one.thread_percentage, 100);
  }
}

}  // namespace
}  // namespace tranche::mps::plan_test
