#include "offer/mps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offer/grant_maker.h"
#include "offer/make_offer.h"
#include "offer/testing.h"

namespace tranche::offer::mps_test {
namespace {

using test::gpu_uuid;
using test::machine_of;
using test::t4;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using namespace testing;  // NOLINT: the words of these tests

constexpr const char* kRoot = "/run/nvidia/mps";

ResourceOffer shared(const config::Config& config, int gpus = 1) {
  return make_offer(machine_of(gpus, t4), config, {}).resources.at(0);
}
config::Config limited(const config::Limits& rules, bool one_only) {
  auto config = mps({entry("gpu", 4)});
  config.sharing.mps->fail_requests_greater_than_one = one_only;
  config.tranche.limits.general = rules;
  return config;
}
Grant granted(const ResourceOffer& offer, const std::vector<std::string>& ids) {
  Grant grant;
  add_mps(offer, ids, kRoot, grant);
  return grant;
}
std::string id(int gpu, int replica) { return replica_id(gpu_uuid(gpu), replica); }

TEST(MpsGrant, IsNvidiasByteForByte) {
  GrantOptions options;
  options.mps_root = kRoot;
  options.list_strategies = {config::DeviceListStrategy::kVolumeMounts};
  const auto offer = shared(mps({entry("gpu", 2, {}, "gpu.shared")}));
  const auto grant = make_grant(offer, options, std::vector{id(0, 1)}, "x");
  ASSERT_TRUE(grant.has_value());
  EXPECT_THAT(grant->envs,
              ElementsAre(Pair("CUDA_MPS_PIPE_DIRECTORY", "/mps/nvidia.com/gpu.shared/pipe"),
                          Pair("NVIDIA_VISIBLE_DEVICES", "/var/run/nvidia-container-devices")));
  EXPECT_THAT(grant->mounts, ElementsAre(Mount{"/mps/nvidia.com/gpu.shared/pipe",
                                               "/run/nvidia/mps/nvidia.com/gpu.shared/pipe", false},
                                         Mount{"/dev/shm", "/run/nvidia/mps/shm", false},
                                         Mount{"/var/run/nvidia-container-devices/" + gpu_uuid(0),
                                               "/dev/null", false}));
}

TEST(MpsGrant, HasNothingWhereMpsHasNoPart) {
  EXPECT_EQ(granted(shared(time_slicing({entry("gpu", 2)})), {id(0, 0)}), Grant());
  EXPECT_EQ(granted(shared(mps({entry("gpu", 1)})), {gpu_uuid(0)}), Grant());
  // A whole GPU and a shared one under one name.
  const auto both = shared(mps({entry("gpu", 2, config::DeviceList{{"1"}})}), 2);
  EXPECT_EQ(granted(both, {gpu_uuid(0)}), Grant());
  EXPECT_THAT(granted(both, {id(1, 0)}).mounts, ::testing::SizeIs(2));
}

TEST(MpsGrant, LowersTheDaemonsDefaultsToTheContainersPart) {
  const config::Limits rules{.enforcement = Enforcement::kStrict,
                             .memory = Bytes::from_mib(2048),
                             .compute = config::Percent{200}};
  const auto extra = [](const Grant& grant) {
    auto envs = grant.envs;
    envs.erase("CUDA_MPS_PIPE_DIRECTORY");
    return envs;
  };
  const auto several = shared(limited(rules, false), 2);
  EXPECT_THAT(extra(granted(several, {id(0, 0)})),
              ElementsAre(Pair("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "20"),
                          Pair("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", gpu_uuid(0) + "=2048M")));
  EXPECT_THAT(extra(granted(several, {id(0, 0), id(0, 1), id(1, 0)})),
              ElementsAre(Pair("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "40"),
                          Pair("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
                               gpu_uuid(0) + "=4096M," + gpu_uuid(1) + "=2048M")));
  // With one tranche per container the daemon's default is the part. With enforcement `account` the
  // grant is as NVIDIA's.
  EXPECT_THAT(extra(granted(shared(limited(rules, true)), {id(0, 0)})), IsEmpty());
  auto counted = rules;
  counted.enforcement = Enforcement::kAccount;
  EXPECT_THAT(extra(granted(shared(limited(counted, false)), {id(0, 0)})), IsEmpty());
  // Elastic containers may use time that others leave idle, so there is no percentage.
  auto elastic = rules;
  elastic.enforcement = Enforcement::kElastic;
  EXPECT_THAT(extra(granted(shared(limited(elastic, false)), {id(0, 0)})),
              ElementsAre(Pair("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", gpu_uuid(0) + "=2048M")));
}

// The container's own variables, without the folder, which all containers have.
std::map<std::string, std::string> extra_envs(const Grant& grant) {
  auto envs = grant.envs;
  envs.erase("CUDA_MPS_PIPE_DIRECTORY");
  return envs;
}

TEST(MpsGrant, ANamespaceIsTheFolderOfItAlone) {
  auto offer = shared(mps({entry("gpu", 4, {}, "gpu.shared")}));
  offer.mps.namespaces = true;
  const auto grant = granted(offer, {id(0, 1)});
  EXPECT_THAT(grant.envs, ElementsAre(Pair("CUDA_MPS_PIPE_DIRECTORY",
                                           "/mps/nvidia.com/gpu.shared/pipe/shared/default")));
  EXPECT_THAT(grant.mounts,
              ElementsAre(Mount{"/mps/nvidia.com/gpu.shared/pipe/shared/default",
                                "/run/nvidia/mps/nvidia.com/gpu.shared/pipe/shared/default", false},
                          Mount{"/dev/shm", "/run/nvidia/mps/shm", false}));
}

TEST(MpsGrant, ANamespaceNeedsNoVariablesForAPart) {
  const config::Limits rules{.enforcement = Enforcement::kStrict,
                             .memory = Bytes::from_mib(2048),
                             .compute = config::Percent{200}};
  auto offer = shared(limited(rules, false), 2);
  offer.mps.namespaces = true;
  EXPECT_EQ(mps_namespaces(offer),
            (std::vector<MpsNamespace>{{"default", {Bytes::from_mib(2048), 20}},
                                       {"tranches_1", {Bytes::from_mib(2048), 20}},
                                       {"tranches_2", {Bytes::from_mib(4096), 40}},
                                       {"tranches_3", {Bytes::from_mib(6144), 60}},
                                       {"tranches_4", {Bytes::from_mib(8192), 80}}}));
  const auto two = granted(offer, {id(0, 0), id(0, 1)});
  EXPECT_THAT(two.envs, ElementsAre(Pair("CUDA_MPS_PIPE_DIRECTORY",
                                         "/mps/nvidia.com/gpu/pipe/shared/tranches_2")));
  // A namespace has one limit for all devices; a device with a smaller one has its own.
  EXPECT_THAT(extra_envs(granted(offer, {id(0, 0), id(0, 1), id(1, 0)})),
              ElementsAre(Pair("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", gpu_uuid(1) + "=2048M")));
}

TEST(MpsGrant, ANamespaceOfUnlikeDevicesIsThePartOfTheLargest) {
  const auto machine = machine_of({t4(0), test::a100_40gb(1)});
  auto offer = make_offer(machine, mps({entry("gpu", 4)}), {}).resources.at(0);
  offer.mps.namespaces = true;
  EXPECT_EQ(mps_namespaces(offer),
            (std::vector<MpsNamespace>{{"default", {Bytes::from_mib(10240), 25}}}));
  EXPECT_THAT(extra_envs(granted(offer, {id(1, 0)})), IsEmpty());
  EXPECT_THAT(extra_envs(granted(offer, {id(0, 0)})),
              ElementsAre(Pair("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", gpu_uuid(0) + "=3840M")));
}

TEST(MpsGrant, ATrancheHasItsSmPartition) {
  auto offer = shared(mps({entry("gpu", 2)}));
  offer.mps.partitions = {{id(0, 0), gpu_uuid(0) + "/Dx0A"}, {id(0, 1), gpu_uuid(0) + "/Dx1A"}};
  EXPECT_THAT(extra_envs(granted(offer, {id(0, 1)})),
              ElementsAre(Pair("CUDA_MPS_SM_PARTITION", gpu_uuid(0) + "/Dx1A")));
}

TEST(MpsLimits, LeaveComputeToMps) {
  config::Limits rules{.enforcement = Enforcement::kStrict};
  const std::string one = id(0, 0);
  const auto side_by_side = limits_for(shared(limited(rules, true)), std::span(&one, 1));
  ASSERT_TRUE(side_by_side.has_value());
  EXPECT_EQ(side_by_side->devices[0].permille, std::nullopt);
  EXPECT_EQ(side_by_side->devices[0].memory, Bytes::from_mib(3840));
  EXPECT_EQ(side_by_side->priority, Priority::kLatencyCritical);
  // A configuration with priorities wants turns.
  rules.policy = config::SharePolicy::kPriority;
  rules.priority = Priority::kBestEffort;
  EXPECT_EQ(limits_for(shared(limited(rules, true)), std::span(&one, 1))->priority,
            Priority::kBestEffort);
}

}  // namespace
}  // namespace tranche::offer::mps_test
