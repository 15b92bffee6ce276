#include "offer/grant_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offer/limits.h"
#include "offer/make_offer.h"
#include "offer/testing.h"

namespace tranche::offer::grant_maker_test {
namespace {

using config::DeviceIdStrategy;
using config::DeviceListStrategy;
using test::a100_40gb;
using test::gpu_uuid;
using test::machine_of;
using test::mig_uuid;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using namespace testing;  // NOLINT: the words of these tests

constexpr const char* kFolder = "/var/run/nvidia-container-devices";
constexpr const char* kAnnotationId = "0b6a7c1e-5f2d-4a3b-9c8d-7e6f5a4b3c2d";

// 8 GPUs, whole or in replicas.
ResourceOffer gpus(int replicas = 1, bool one_only = false) {
  return make_offer(machine_of(8, a100_40gb), time_slicing({entry("gpu", replicas)}, one_only), {})
      .resources.at(0);
}
ResourceOffer migs() {
  return make_offer(
             machine_of({a100_40gb(0).mig({"1g.5gb", "1g.5gb"}), a100_40gb(1).mig({"1g.5gb"})}),
             with_mig(config::MigStrategy::kMixed), {})
      .resources.at(0);
}

Grant granted(const ResourceOffer& offer, const GrantOptions& options,
              const std::vector<std::string>& wanted) {
  const Result<Grant> grant = make_grant(offer, options, wanted, kAnnotationId);
  if (!grant) throw std::runtime_error(grant.error().message());
  return *grant;
}

std::string g(int index) { return gpu_uuid(index); }
std::string g(int index, int replica) { return replica_id(gpu_uuid(index), replica); }
std::string path_of(const std::string& device) { return std::string(kFolder) + "/" + device; }

TEST(Refusals, HaveNvidiasWords) {
  struct Row {
    std::string name;
    ResourceOffer offer;
    std::vector<std::string> ids;
    std::string why;
  };
  const std::vector<Row> rows = {
      {"unknown", gpus(), {g(0), "GPU-x"}, "unknown device: GPU-x"},
      {"whole id of a shared GPU", gpus(2), {g(0)}, "unknown device: " + g(0)},
      {"replica beyond the last", gpus(2), {g(0, 2)}, "unknown device: " + g(0, 2)},
      {"replica with a leading zero", gpus(2), {g(0) + "::01"}, "unknown device: " + g(0) + "::01"},
      {"empty id", gpus(), {""}, "unknown device: "},
      {"endless id",
       gpus(),
       {std::string(100'000, 'x')},
       "unknown device: " + std::string(200, 'x') + "..."},
      {"two shared",
       gpus(2, true),
       {g(0, 0), g(1, 0)},
       "maximum request size for shared resources is 1; found 2"},
      {"three shared",
       gpus(4, true),
       {g(0, 0), g(0, 1), g(0, 2)},
       "maximum request size for shared resources is 1; found 3"},
      {"unknown is said first", gpus(2, true), {g(0, 0), "GPU-x"}, "unknown device: GPU-x"},
      {"twice the same", gpus(), {g(0), g(0)}, "duplicate device: " + g(0)},
      {"none", gpus(), {}, "no device"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const Result<Grant> grant = make_grant(row.offer, {}, row.ids, kAnnotationId);
    ASSERT_FALSE(grant);
    const bool unknown = grant.error().what.find("unknown device") != std::string::npos;
    EXPECT_EQ(grant.error().code, unknown ? Code::kNotFound : Code::kInvalidArgument);
    EXPECT_EQ(grant.error().what,
              "invalid allocation request for \"nvidia.com/gpu\": invalid request: " + row.why);
    EXPECT_EQ(grant.error().hint, "");
  }
}

TEST(Refusals, OneSharedDeviceIsFine) {
  EXPECT_TRUE(make_grant(gpus(2, true), {}, std::vector{g(0, 1)}, ""));
}

TEST(Refusals, WholeDevicesOfAPartlySharedResourceAreNotCounted) {
  const ResourceOffer mixed =
      make_offer(machine_of(3, a100_40gb),
                 time_slicing({entry("gpu", 2, config::DeviceCount{1})}, true), {})
          .resources.at(0);
  EXPECT_TRUE(make_grant(mixed, {}, std::vector{g(1), g(2)}, ""));
  EXPECT_FALSE(make_grant(mixed, {}, std::vector{g(1), g(0, 0)}, ""));
}

// NVIDIA_VISIBLE_DEVICES as observed on NVIDIA's plugin.
TEST(Envvar, DeviceLists) {
  struct Row {
    std::string name;
    ResourceOffer offer;
    DeviceIdStrategy id_strategy;
    std::vector<std::string> ids;
    std::string expected;
  };
  const std::vector<Row> rows = {
      {"order kept", gpus(), DeviceIdStrategy::kUuid, {g(3), g(1)}, g(3) + "," + g(1)},
      {"replicas of one GPU once",
       gpus(4),
       DeviceIdStrategy::kUuid,
       {g(3, 1), g(3, 2), g(1, 0), g(3, 0)},
       g(3) + "," + g(1)},
      {"index", gpus(), DeviceIdStrategy::kIndex, {g(3), g(1), g(7)}, "3,1,7"},
      {"MIG uuid",
       migs(),
       DeviceIdStrategy::kUuid,
       {mig_uuid(1, 0), mig_uuid(0, 1)},
       mig_uuid(1, 0) + "," + mig_uuid(0, 1)},
      {"MIG index", migs(), DeviceIdStrategy::kIndex, {mig_uuid(0, 0)}, "0:0"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    GrantOptions options;
    options.id_strategy = row.id_strategy;
    const Grant grant = granted(row.offer, options, row.ids);
    EXPECT_THAT(grant.envs, ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", row.expected)));
    EXPECT_EQ(grant.resource, row.offer.name);
    EXPECT_EQ(grant.ids, row.ids);
    EXPECT_THAT(grant.mounts, IsEmpty());
    EXPECT_THAT(grant.devices, IsEmpty());
    EXPECT_THAT(grant.annotations, IsEmpty());
    EXPECT_THAT(grant.cdi_devices, IsEmpty());
  }
}

TEST(VolumeMounts, NameTheDevices) {
  GrantOptions options;
  options.list_strategies = {DeviceListStrategy::kVolumeMounts};
  options.imex_channels = {0};
  const Grant grant = granted(gpus(), options, {g(1), g(0)});
  EXPECT_THAT(grant.envs, ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", kFolder)));
  EXPECT_THAT(grant.mounts, ElementsAre(Mount{path_of(g(1)), "/dev/null", false},
                                        Mount{path_of(g(0)), "/dev/null", false},
                                        Mount{path_of("imex/0"), "/dev/null", false}));
}

TEST(VolumeMounts, WinTheVariableFromEnvvarInAnyOrder) {
  for (const bool mounts_first : {false, true}) {
    GrantOptions options;
    options.list_strategies = {DeviceListStrategy::kEnvvar, DeviceListStrategy::kVolumeMounts};
    if (mounts_first) std::ranges::reverse(options.list_strategies);
    options.imex_channels = {0};
    const Grant grant = granted(gpus(), options, {g(0)});
    EXPECT_THAT(grant.envs, ElementsAre(Pair("NVIDIA_IMEX_CHANNELS", "0"),
                                        Pair("NVIDIA_VISIBLE_DEVICES", kFolder)));
    EXPECT_EQ(grant.mounts.size(), 2U);
  }
}

// The sample seen with cdi-cri, cdi-annotations, IMEX and all modes on, with empty specifications.
TEST(Cdi, NamesAndAnnotation) {
  GrantOptions options;
  options.list_strategies = {DeviceListStrategy::kCdiCri, DeviceListStrategy::kCdiAnnotations};
  options.imex_channels = {0};
  options.gdrcopy = options.gds = options.mofed = true;
  options.pass_device_specs = true;  // has no effect here
  const Grant grant = granted(gpus(), options, {g(0), g(1)});
  const std::string first = "k8s.device-plugin.nvidia.com/gpu=" + g(0);
  const std::string second = "k8s.device-plugin.nvidia.com/gpu=" + g(1);
  const std::string imex = "k8s.device-plugin.nvidia.com/imex-channel=0";
  EXPECT_THAT(grant.envs,
              ElementsAre(Pair("NVIDIA_GDRCOPY", "enabled"), Pair("NVIDIA_GDS", "enabled"),
                          Pair("NVIDIA_MOFED", "enabled")));
  EXPECT_THAT(grant.annotations,
              ElementsAre(Pair(std::string("cdi.k8s.io/nvidia-device-plugin_") + kAnnotationId,
                               first + "," + second + "," + imex)));
  EXPECT_THAT(grant.cdi_devices, ElementsAre(first, second, imex));
  EXPECT_THAT(grant.devices, IsEmpty());
}

TEST(Cdi, ModesIndicesAndPrefix) {
  GrantOptions options;
  options.list_strategies = {DeviceListStrategy::kCdiAnnotations};
  options.cdi_annotation_prefix = "example.com/";
  options.id_strategy = DeviceIdStrategy::kIndex;
  options.gds = true;
  options.cdi_modes = {"gds"};
  const Grant grant = granted(gpus(2), options, {g(3, 1), g(3, 0)});
  EXPECT_THAT(grant.annotations,
              ElementsAre(Pair(std::string("example.com/nvidia-device-plugin_") + kAnnotationId,
                               "k8s.device-plugin.nvidia.com/gpu=3,"
                               "k8s.device-plugin.nvidia.com/gds=all")));
  EXPECT_THAT(grant.cdi_devices, IsEmpty());
}

TEST(Cdi, BesideEnvvarBothSpeak) {
  GrantOptions options;
  options.list_strategies = {DeviceListStrategy::kEnvvar, DeviceListStrategy::kCdiCri};
  options.pass_device_specs = true;
  const Grant grant = granted(gpus(), options, {g(2)});
  EXPECT_THAT(grant.envs, ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", g(2))));
  EXPECT_THAT(grant.cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=" + g(2)));
  EXPECT_THAT(grant.devices, ElementsAre(DeviceNode{"/dev/nvidia2", "/dev/nvidia2", "rw"}));
}

std::vector<std::string> node_paths(const Grant& grant) {
  std::vector<std::string> out;
  for (const DeviceNode& node : grant.devices) out.push_back(node.container_path);
  return out;
}

TEST(DeviceSpecs, InNvidiasOrder) {
  GrantOptions options;
  options.pass_device_specs = true;
  options.dev_root = "/run/nvidia/driver";
  options.control_nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
                           "/dev/nvidia-modeset"};
  options.imex_channels = {0};
  const Grant grant = granted(gpus(), options, {g(0)});
  EXPECT_THAT(node_paths(grant),
              ElementsAre("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
                          "/dev/nvidia-modeset", "/dev/nvidia0",
                          "/dev/nvidia-caps-imex-channels/channel0"));
  EXPECT_EQ(grant.devices[4], (DeviceNode{"/dev/nvidia0", "/run/nvidia/driver/dev/nvidia0", "rw"}));
  EXPECT_THAT(grant.envs,
              ElementsAre(Pair("NVIDIA_IMEX_CHANNELS", "0"), Pair("NVIDIA_VISIBLE_DEVICES", g(0))));
}

TEST(DeviceSpecs, SharedNodesOnce) {
  GrantOptions options;
  options.pass_device_specs = true;
  EXPECT_THAT(node_paths(granted(gpus(4), options, {g(3, 0), g(3, 1), g(1, 0)})),
              ElementsAre("/dev/nvidia3", "/dev/nvidia1"));
  EXPECT_THAT(
      node_paths(granted(migs(), options, {mig_uuid(0, 0), mig_uuid(0, 1)})),
      ElementsAre("/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap1", "/dev/nvidia-caps/nvidia-cap2",
                  "/dev/nvidia-caps/nvidia-cap11", "/dev/nvidia-caps/nvidia-cap12"));
}

TEST(DeviceSpecs, RootsAreJoinedWithOneSlash) {
  for (const auto& [root, expected] : std::map<std::string, std::string>{
           {"/", "/dev/nvidia0"}, {"", "/dev/nvidia0"}, {"/host/", "/host/dev/nvidia0"}}) {
    GrantOptions options;
    options.pass_device_specs = true;
    options.dev_root = root;
    EXPECT_EQ(granted(gpus(), options, {g(0)}).devices.at(0).host_path, expected);
  }
}

TEST(GrantMakers, ServeManyRequestsOfOneOffer) {
  const GrantMaker maker(gpus(48), {});
  for (int gpu = 0; gpu < 8; ++gpu) {
    for (int replica = 0; replica < 48; ++replica) {
      const Result<Grant> grant = maker.make(std::vector{g(gpu, replica)}, "");
      ASSERT_TRUE(grant);
      EXPECT_EQ(grant->envs.at("NVIDIA_VISIBLE_DEVICES"), g(gpu));
    }
  }
  EXPECT_EQ(maker.offer().tranches.size(), 8U * 48U);
}

// Grants of resources with limits.

ResourceOffer limited_gpus() {
  auto config = time_slicing({entry("gpu", 4)});
  config.tranche.limits.general.enforcement = Enforcement::kStrict;
  return make_offer(machine_of(2, a100_40gb), config, {}).resources.at(0);
}

const LimitMounts kLimits = {"/s/lib/1/libtranche-limit.so", "/s/lib/1/ld.so.preload",
                             "/s/tenants"};

TEST(LimitedGrants, HaveTheSameMountsUnderEveryStrategy) {
  for (const auto strategy : {DeviceListStrategy::kEnvvar, DeviceListStrategy::kVolumeMounts,
                              DeviceListStrategy::kCdiAnnotations, DeviceListStrategy::kCdiCri}) {
    const GrantOptions plain = {.list_strategies = {strategy}};
    auto options = plain;
    options.limits = kLimits;
    const auto without = granted(gpus(4), plain, {g(0, 1)});
    auto with = granted(limited_gpus(), options, {g(0, 1)});
    const std::string id = kAnnotationId;
    auto expected = without.mounts;
    expected.push_back({"/usr/local/tranche/libtranche-limit.so", kLimits.library, true});
    expected.push_back({"/etc/ld.so.preload", kLimits.preload, true});
    expected.push_back({"/run/tranche/" + id, "/s/tenants/" + id, true});
    EXPECT_EQ(with.mounts, expected) << to_string(strategy);
    EXPECT_EQ(with.tenant, id);
    EXPECT_EQ(with.limits, limits_for(limited_gpus(), with.ids));
    // The rest of the answer is equal.
    with.mounts = without.mounts;
    with.tenant.clear();
    with.limits.reset();
    EXPECT_EQ(with, without) << to_string(strategy);
  }
}

TEST(LimitedGrants, HaveTheRuntimesHookByKubeletsCdiDevicesUnderEveryStrategy) {
  auto resource = limited_gpus();
  resource.limits->rules.runtime_hook = true;
  for (const auto strategy : {DeviceListStrategy::kEnvvar, DeviceListStrategy::kVolumeMounts,
                              DeviceListStrategy::kCdiAnnotations, DeviceListStrategy::kCdiCri}) {
    const GrantOptions options = {.list_strategies = {strategy}, .limits = kLimits};
    const auto without = granted(limited_gpus(), options, {g(0, 1)});
    auto with = granted(resource, options, {g(0, 1)});
    auto expected = without.cdi_devices;
    expected.emplace_back("tranche.dev/limits=hook");
    EXPECT_EQ(with.cdi_devices, expected) << to_string(strategy);
    with.cdi_devices = without.cdi_devices;
    EXPECT_EQ(with, without) << to_string(strategy);
  }
}

TEST(LimitedGrants, ResourcesWithoutLimitsAreAsEver) {
  const auto grant = granted(gpus(4), {.limits = kLimits}, {g(0, 1)});
  EXPECT_EQ(grant, granted(gpus(4), {}, {g(0, 1)}));
  EXPECT_EQ(grant.tenant, "");
  EXPECT_EQ(grant.limits, std::nullopt);
}

TEST(LimitedGrants, AreNotMadeWhereNothingCanBeLimited) {
  const auto grant = make_grant(limited_gpus(), {}, std::vector{g(0, 1)}, kAnnotationId);
  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace tranche::offer::grant_maker_test
