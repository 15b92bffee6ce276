#include "offer/make_offer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offer/testing.h"

namespace tranche::offer::make_offer_test {
namespace {

using config::DeviceCount;
using config::DeviceList;
using config::MigStrategy;
using test::a100_40gb;
using test::dgx_display;
using test::gpu_uuid;
using test::l20;
using test::machine_of;
using test::mig_uuid;
using test::t4;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace testing;  // NOLINT: the words of these tests

Offer offered(const gpu::Machine& machine, const config::Config& config = {},
              const gpu::HealthReport& health = {}) {
  return make_offer(machine, config, health);
}

TEST(Devices, AnUnknownMinorGivesNoGuessedNodeAndAnUnhealthyDevice) {
  const Offer offer = offered(machine_of({l20(0).minor(-1), l20(1)}));
  const auto& devices = offer.resources[0].devices;
  EXPECT_THAT(devices[0].paths, IsEmpty());
  EXPECT_THAT(devices[0].unhealthy_reason, HasSubstr("does not tell its minor number"));
  EXPECT_THAT(devices[1].paths, ElementsAre("/dev/nvidia1"));
  EXPECT_TRUE(devices[1].healthy());
}

TEST(Devices, AnInstanceWithoutCapabilityNodesIsUnhealthy) {
  auto machine = machine_of({a100_40gb(0).mig({"1g.5gb", "1g.5gb", "2g.10gb"})});
  auto& instances = machine.gpus[0].mig_instances;
  instances[0].gpu_instance_cap.reset();
  instances[1].compute_instance_cap.reset();
  const Offer offer = offered(machine, with_mig(MigStrategy::kMixed));
  for (const auto& device : offer.resources[0].devices) {
    EXPECT_THAT(device.unhealthy_reason, HasSubstr("mig-minors")) << device.index;
  }
  EXPECT_TRUE(offer.resources[1].devices[0].healthy());
  EXPECT_TRUE(offered(machine).resources[0].devices[0].healthy()) << "the GPU as a whole";
}

TEST(Ids, ReplicaIdsComeApartAgain) {
  EXPECT_EQ(replica_id("GPU-a", 12), "GPU-a::12");
  EXPECT_EQ(device_uuid_of("GPU-a::12"), "GPU-a");
  EXPECT_EQ(device_uuid_of("GPU-a"), "GPU-a");
  EXPECT_TRUE(is_replica_id("GPU-a::0"));
  EXPECT_FALSE(is_replica_id("GPU-a:0"));
}

struct Row {
  std::string name;
  gpu::Machine machine;
  config::Config config;
  std::string expected;  // summary()
};

class OfferTable : public ::testing::TestWithParam<Row> {};

TEST_P(OfferTable, Resources) {
  const Offer offer = offered(GetParam().machine, GetParam().config);
  EXPECT_EQ(summary(offer), GetParam().expected);
  EXPECT_THAT(offer.withheld, IsEmpty());
}

config::Config patterns(config::Config base, std::vector<config::ResourcePattern> gpus,
                        std::vector<config::ResourcePattern> migs = {}) {
  base.gpus = std::move(gpus);
  base.migs = std::move(migs);
  return base;
}

const std::vector<Row> kRows = {
    {"nothing", {}, {}, ""},
    {"whole", machine_of({l20(0), t4(1)}), {}, "gpu=2"},
    {"display card skipped", machine_of({t4(0), dgx_display(1), t4(2)}), {}, "gpu=2"},
    {"one replica is not shared", machine_of({t4(0)}), time_slicing({entry("gpu", 1)}), "gpu=1"},
    {"replicas", machine_of({t4(0), t4(1)}), time_slicing({entry("gpu", 3)}), "gpu=6"},
    {"same resource twice: union of ids", machine_of({t4(0), t4(1)}),
     time_slicing({entry("gpu", 2), entry("gpu", 3)}), "gpu=6"},
    {"same resource twice, other order", machine_of({t4(0), t4(1)}),
     time_slicing({entry("gpu", 3), entry("gpu", 2)}), "gpu=6"},
    {"renamed", machine_of({t4(0)}), time_slicing({entry("gpu", 4, {}, "gpu.shared")}),
     "gpu.shared=4"},
    {"some shared under another name", machine_of(4, l20),
     time_slicing({entry("gpu", 4, DeviceList{{"1", "3"}}, "gpu.shared")}), "gpu=2 gpu.shared=8"},
    {"some shared under the same name", machine_of(3, l20),
     time_slicing({entry("gpu", 4, DeviceCount{1})}), "gpu=6"},
    {"count", machine_of(4, l20), time_slicing({entry("gpu", 2, DeviceCount{3}, "gpu.shared")}),
     "gpu=1 gpu.shared=6"},
    {"two entries, two names", machine_of(4, l20),
     time_slicing({entry("gpu", 2, DeviceList{{"0"}}, "gpu.half"),
                   entry("gpu", 4, DeviceList{{"1"}}, "gpu.quarter")}),
     "gpu=2 gpu.half=2 gpu.quarter=4"},
    {"MIG ignored", machine_of({a100_40gb(0).mig({"1g.5gb"})}), with_mig(MigStrategy::kNone),
     "gpu=1"},
    {"MIG single", machine_of({a100_40gb(0).mig({"3g.20gb", "3g.20gb"})}),
     with_mig(MigStrategy::kSingle), "gpu=2"},
    {"MIG single without MIG", machine_of({a100_40gb(0), a100_40gb(1)}),
     with_mig(MigStrategy::kSingle), "gpu=2"},
    {"MIG single shared", machine_of({a100_40gb(0).mig({"1g.5gb", "1g.5gb"})}),
     with_mig(MigStrategy::kSingle, time_slicing({entry("gpu", 3)})), "gpu=6"},
    {"MIG mixed",
     machine_of({a100_40gb(0).mig({"1g.5gb", "1g.5gb+me", "2g.10gb", "3g.20gb"}), a100_40gb(1)}),
     with_mig(MigStrategy::kMixed),
     "gpu=1 mig-1g.5gb=1 mig-1g.5gb.me=1 mig-2g.10gb=1 "
     "mig-3g.20gb=1"},
    {"MIG names", machine_of({a100_40gb(0).mig({"1g.10gb+me.all", "1g.24gb+gfx", "2g.20gb-me"})}),
     with_mig(MigStrategy::kMixed), "mig-1g.10gb.me.all=1 mig-1g.24gb.gfx=1 mig-2g.20gb-me=1"},
    {"MIG shared by profile and slot", machine_of({a100_40gb(0).mig({"1g.5gb", "1g.5gb"})}),
     with_mig(MigStrategy::kMixed,
              time_slicing({entry("mig-1g.5gb", 2, DeviceList{{"0:1"}}, "mig-1g.5gb.shared")})),
     "mig-1g.5gb=1 mig-1g.5gb.shared=2"},
    {"patterns by product name, first match", machine_of({l20(0), t4(1), t4(2)}),
     patterns({}, {{"*T4", {"nvidia.com/t4"}}, {"Tesla*", {"nvidia.com/tesla"}}}), "gpu=1 t4=2"},
    {"patterns by profile", machine_of({a100_40gb(0).mig({"1g.5gb", "2g.10gb"})}),
     patterns(with_mig(MigStrategy::kMixed), {}, {{"1g*", {"nvidia.com/small"}}}),
     "mig-2g.10gb=1 small=1"},
    {"compute instances smaller than their GPU instance",
     machine_of({a100_40gb(0).mig({"1c.3g.20gb", "2c.3g.20gb", "1c.2g.10gb+me", "1g.5gb"})}),
     with_mig(MigStrategy::kMixed),
     "mig-1c.2g.10gb.me=1 mig-1c.3g.20gb=1 mig-1g.5gb=1 mig-2c.3g.20gb=1"},
    {"single with compute instances of one kind",
     machine_of({a100_40gb(0).mig({"1c.3g.20gb", "1c.3g.20gb", "1c.3g.20gb"})}),
     with_mig(MigStrategy::kSingle), "gpu=3"},
    {"partial instance with a pattern of its own", machine_of({a100_40gb(0).mig({"1c.2g.10gb"})}),
     patterns(with_mig(MigStrategy::kMixed), {}, {{"1c.*", {"nvidia.com/part"}}}), "part=1"},
    {"two classes under one name", machine_of({l20(0), t4(1)}),
     patterns(time_slicing({entry("t4", 2, {}, "gpu")}), {{"*T4", {"nvidia.com/t4"}}}), "gpu=3"},
    {"sharing of a patterned resource", machine_of({l20(0), t4(1)}),
     patterns(time_slicing({entry("t4", 3)}), {{"*T4", {"nvidia.com/t4"}}}), "gpu=1 t4=3"},
};

INSTANTIATE_TEST_SUITE_P(All, OfferTable, ::testing::ValuesIn(kRows), [](const auto& row) {
  std::string name;
  for (const char c : row.param.name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  }
  return name;
});

// All ways to write a device name the same one.
TEST(DeviceLists, AllSpellings) {
  const gpu::Machine machine =
      machine_of({a100_40gb(0).mig({"1g.5gb", "1g.5gb", "1g.5gb"}), a100_40gb(1)});
  struct Spelling {
    std::string item;
    std::string resource;
    std::string uuid;
  };
  const std::vector<Spelling> spellings = {
      {"1", "gpu", gpu_uuid(1)},
      {gpu_uuid(1), "gpu", gpu_uuid(1)},
      {"gpu-00000000-0000-0000-0000-000000000001", "gpu", gpu_uuid(1)},
      {"0:2", "mig-1g.5gb", mig_uuid(0, 2)},
      {mig_uuid(0, 2), "mig-1g.5gb", mig_uuid(0, 2)},
      {"MIG-" + gpu_uuid(0) + "/3/0", "mig-1g.5gb", mig_uuid(0, 2)},
  };
  for (const Spelling& spelling : spellings) {
    SCOPED_TRACE(spelling.item);
    const Offer offer = offered(
        machine,
        with_mig(MigStrategy::kMixed,
                 time_slicing({entry(spelling.resource, 2,
                                     DeviceList{{spelling.item, spelling.item}}, "shared")})));
    const ResourceOffer* shared = offer.find(resource("shared"));
    ASSERT_NE(shared, nullptr);
    EXPECT_THAT(ids(*shared), ElementsAre(spelling.uuid + "::0", spelling.uuid + "::1"));
    EXPECT_THAT(offer.warnings, IsEmpty());
  }
}

TEST(Offers, ResourceInFull) {
  const Offer offer = offered(machine_of({l20(0).numa(1), l20(1).numa(std::nullopt)}),
                              time_slicing({entry("gpu", 2, {}, "gpu.shared")}, true));
  ASSERT_THAT(offer.resources, SizeIs(1));
  const ResourceOffer& resource = offer.resources.front();
  EXPECT_EQ(resource.name.value, "nvidia.com/gpu.shared");
  EXPECT_EQ(resource.base.value, "nvidia.com/gpu");
  EXPECT_EQ(resource.endpoint, "nvidia-gpu.shared.sock");
  EXPECT_EQ(resource.sharing, config::SharingStrategy::kTimeSlicing);
  EXPECT_EQ(resource.replicas, 2);
  EXPECT_TRUE(resource.fail_requests_greater_than_one);
  const Device first{.uuid = gpu_uuid(0),
                     .index = "0",
                     .gpu_index = 0,
                     .gpu_uuid = gpu_uuid(0),
                     .mig = false,
                     .numa_node = 1,
                     .paths = {"/dev/nvidia0"},
                     .unhealthy_reason = "",
                     .memory = l20(0).build().memory};
  ASSERT_THAT(resource.devices, SizeIs(2));
  EXPECT_EQ(resource.devices[0], first);
  EXPECT_EQ(resource.devices[1].numa_node, std::nullopt);
  EXPECT_EQ(resource.tranches, (std::vector<Tranche>{{gpu_uuid(0) + "::0", 0},
                                                     {gpu_uuid(0) + "::1", 0},
                                                     {gpu_uuid(1) + "::0", 1},
                                                     {gpu_uuid(1) + "::1", 1}}));
  EXPECT_EQ(offer.find(testing::resource("gpu")), nullptr);
}

TEST(Offers, UnsharedResourcesHaveNoSharingRules) {
  const Offer offer = offered(machine_of({l20(0)}), time_slicing({entry("gpu", 1)}, true));
  const ResourceOffer& resource = offer.resources.at(0);
  EXPECT_EQ(resource.sharing, config::SharingStrategy::kNone);
  EXPECT_EQ(resource.replicas, 1);
  EXPECT_FALSE(resource.fail_requests_greater_than_one);
  EXPECT_THAT(ids(resource), ElementsAre(gpu_uuid(0)));
}

TEST(Offers, MigDevicesHaveTheirCapabilityFiles) {
  const Offer offer =
      offered(machine_of({a100_40gb(1).minor(5).numa(1).mig({"1g.5gb", "2g.10gb"})}),
              with_mig(MigStrategy::kMixed));
  const Device& device = offer.find(resource("mig-2g.10gb"))->devices.at(0);
  EXPECT_EQ(device.uuid, mig_uuid(1, 1));
  EXPECT_EQ(device.index, "1:1");
  EXPECT_EQ(device.gpu_uuid, gpu_uuid(1));
  EXPECT_TRUE(device.mig);
  EXPECT_EQ(device.numa_node, 1);
  EXPECT_THAT(device.paths, ElementsAre("/dev/nvidia5", "/dev/nvidia-caps/nvidia-cap111",
                                        "/dev/nvidia-caps/nvidia-cap112"));
}

TEST(Offers, MergedClassesStandInTheOrderOfTheHardware) {
  config::Config config = time_slicing({entry("t4", 2, {}, "gpu")});
  config.gpus = {{"*T4", {"nvidia.com/t4"}}};
  const Offer offer = offered(machine_of({t4(0), l20(1)}), config);
  EXPECT_THAT(ids(offer.resources.at(0)),
              ElementsAre(gpu_uuid(0) + "::0", gpu_uuid(0) + "::1", gpu_uuid(1)));
}

TEST(Health, AnUnhealthyDeviceStaysListedWithItsReason) {
  const Offer offer = offered(machine_of({l20(0), l20(1).lost("GPU is lost"), l20(2).unknown("")}),
                              time_slicing({entry("gpu", 2)}), {{gpu_uuid(0), "XID 79"}});
  const ResourceOffer& resource = offer.resources.at(0);
  EXPECT_THAT(resource.tranches, SizeIs(6));
  EXPECT_EQ(resource.devices[0].unhealthy_reason, "XID 79");
  EXPECT_EQ(resource.devices[1].unhealthy_reason, "GPU is lost");
  EXPECT_EQ(resource.devices[2].unhealthy_reason, "the GPU does not answer");
}

TEST(Health, OnlyTheNamedMigInstanceSuffersUnlessItsGpuIsLost) {
  const auto reasons = [](const gpu::Machine& machine, const gpu::HealthReport& health) {
    const Offer offer = offered(machine, with_mig(MigStrategy::kMixed), health);
    std::vector<std::string> out;
    for (const Device& device : offer.resources.at(0).devices)
      out.push_back(device.unhealthy_reason);
    return out;
  };
  EXPECT_THAT(
      reasons(machine_of({a100_40gb(0).mig({"1g.5gb", "1g.5gb"})}), {{mig_uuid(0, 1), "XID 94"}}),
      ElementsAre("", "XID 94"));
  EXPECT_THAT(reasons(machine_of({a100_40gb(0).mig({"1g.5gb", "1g.5gb"}).lost("gone")}), {}),
              ElementsAre("gone", "gone"));
}

TEST(Health, ANeverReadGpuIsNamedInAWarning) {
  const Offer offer = offered(machine_of({l20(0), l20(1).uuid("").lost("no handle")}));
  EXPECT_EQ(summary(offer), "gpu=1");
  EXPECT_THAT(offer.warnings, ElementsAre(HasSubstr("GPU 1 cannot be read (no handle)")));
}

gpu::Machine machine_with_mig_refused() {
  auto machine = machine_of({a100_40gb(0).mig(), a100_40gb(1).mig()});
  for (auto& gpu : machine.gpus) gpu.mig_refused = "Insufficient Permissions";
  return machine;
}

TEST(MigMixed, UnreportedInstancesAreWithheldAndNameTheChartsValue) {
  const Offer offer = offered(machine_with_mig_refused(), with_mig(MigStrategy::kMixed));
  ASSERT_THAT(offer.withheld, SizeIs(1));
  EXPECT_EQ(offer.withheld[0].name.value, "nvidia.com/mig-*");
  EXPECT_THAT(offer.withheld[0].reason,
              HasSubstr("does not tell this container the MIG instances of GPU 0"));
  EXPECT_THAT(offer.withheld[0].reason, HasSubstr("Insufficient Permissions; "));
  EXPECT_THAT(offer.withheld[0].reason, HasSubstr("mig.monitor=true"));
  EXPECT_THAT(offer.warnings, IsEmpty());
}

TEST(MigSingle, UnreportedInstancesAreNotAMixedLayout) {
  const Offer offer = offered(machine_with_mig_refused(), with_mig(MigStrategy::kSingle));
  EXPECT_THAT(offer.resources, IsEmpty());
  ASSERT_THAT(offer.withheld, SizeIs(1));
  EXPECT_EQ(offer.withheld[0].name, resource("gpu"));
  EXPECT_THAT(offer.withheld[0].reason, HasSubstr("Insufficient Permissions; "));
  EXPECT_THAT(offer.withheld[0].reason, HasSubstr("mig.monitor=true"));
}

TEST(MigUnread, IsOneGpusTrouble) {
  struct UnreadRow {
    MigStrategy strategy;
    gpu::Machine machine;  // of its GPUs the last cannot be read
    std::string offered;
    std::string withheld;
  };
  const auto cut = [](int index) { return a100_40gb(index).mig({"3g.20gb", "3g.20gb"}); };
  const std::vector<UnreadRow> rows = {
      {MigStrategy::kNone, machine_of({l20(0), l20(1)}), "gpu=2", ""},
      {MigStrategy::kSingle, machine_of({l20(0), l20(1)}), "gpu=1", "nvidia.com/gpu"},
      {MigStrategy::kMixed, machine_of({l20(0), l20(1)}), "gpu=1", "nvidia.com/gpu"},
      {MigStrategy::kSingle, machine_of({cut(0), a100_40gb(1)}), "gpu=2", "nvidia.com/gpu"},
      {MigStrategy::kMixed, machine_of({cut(0), a100_40gb(1)}), "mig-3g.20gb=2", "nvidia.com/gpu"},
      {MigStrategy::kSingle, machine_of({cut(0), a100_40gb(1).mig()}), "gpu=2", "nvidia.com/gpu"},
      {MigStrategy::kMixed, machine_of({cut(0), a100_40gb(1).mig()}), "mig-3g.20gb=2",
       "nvidia.com/mig-*"},
      {MigStrategy::kSingle, machine_of({a100_40gb(0)}), "", "nvidia.com/gpu"},
  };
  for (auto row : rows) {
    SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(row.strategy), row.offered));
    row.machine.gpus.back().mig_unread = "Unknown Error";
    const Offer offer = offered(row.machine, with_mig(row.strategy));
    EXPECT_EQ(summary(offer), row.offered);
    ASSERT_THAT(offer.withheld, SizeIs(row.withheld.empty() ? 0 : 1));
    if (row.withheld.empty()) continue;
    EXPECT_EQ(offer.withheld[0].name.value, row.withheld);
    EXPECT_THAT(offer.withheld[0].reason, HasSubstr("does not tell the MIG layout of GPU "));
    EXPECT_THAT(offer.withheld[0].reason, HasSubstr("Unknown Error; "));
  }
}

struct SingleRow {
  std::string name;
  gpu::Machine machine;
  std::string phrase;
};

TEST(MigSingle, WithholdsANonUniformLayout) {
  const std::vector<SingleRow> rows = {
      {"empty", machine_of({a100_40gb(0).mig({"1g.5gb"}), a100_40gb(1).mig()}),
       "device 1 has no MIG devices configured"},
      {"all empty", machine_of({a100_40gb(0).mig()}), "device 0 has no MIG devices configured"},
      {"profiles", machine_of({a100_40gb(0).mig({"1g.5gb", "2g.10gb"})}),
       "more than one MIG device type present on node"},
      {"on and off", machine_of({a100_40gb(0).mig({"1g.5gb"}), a100_40gb(1)}),
       "all devices on the node must be configured with the same migEnabled value"},
  };
  for (const SingleRow& row : rows) {
    SCOPED_TRACE(row.name);
    const Offer offer =
        offered(row.machine, with_mig(MigStrategy::kSingle, time_slicing({entry("gpu", 3)})));
    EXPECT_THAT(offer.resources, IsEmpty());
    ASSERT_THAT(offer.withheld, SizeIs(1));
    EXPECT_EQ(offer.withheld[0].name, resource("gpu"));
    EXPECT_THAT(offer.withheld[0].devices, IsEmpty());
    EXPECT_THAT(offer.withheld[0].reason, HasSubstr("migStrategy single: " + row.phrase));
    EXPECT_THAT(offer.withheld[0].reason, HasSubstr("; give every GPU of the node the same"));
    // Shared and limited devices exist: they are only withheld.
    EXPECT_THAT(offer.warnings, IsEmpty());
  }
}

TEST(MigSingle, WithholdsEachNameThatThePatternsGive) {
  const auto machine = machine_of({a100_40gb(0).mig({"1g.5gb", "2g.10gb"}), t4(1)});
  const Offer offer =
      offered(machine, patterns(with_mig(MigStrategy::kSingle), {{"*T4", {"nvidia.com/t4"}}},
                                {{"2g*", {"nvidia.com/big"}}}));
  EXPECT_THAT(offer.resources, IsEmpty());
  std::vector<std::string> names;
  for (const auto& withheld : offer.withheld) names.push_back(withheld.name.value);
  EXPECT_THAT(names, ElementsAre("nvidia.com/big", "nvidia.com/gpu", "nvidia.com/t4"));
}

struct WarningRow {
  std::string name;
  gpu::Machine machine;
  config::Config config;
  std::string resources;
  std::vector<std::string> phrases;  // all in the one warning
};

TEST(Warnings, SayWhatAndWhere) {
  config::ReplicatedResource at_line = entry("mig-7g.40gb", 7);
  at_line.line = 9;
  const std::vector<WarningRow> rows = {
      {"unknown resource",
       machine_of({t4(0)}),
       time_slicing({at_line}),
       "gpu=1",
       {"mig-7g.40gb (line 9)", "no such resource on this node", "it has nvidia.com/gpu"}},
      {"device not there",
       machine_of({t4(0)}),
       time_slicing({entry("gpu", 2, DeviceList{{"0", "GPU-x"}})}),
       "gpu=2",
       {"device GPU-x"}},
      {"device of another resource",
       machine_of({a100_40gb(0).mig({"1g.5gb"}), a100_40gb(1)}),
       with_mig(MigStrategy::kMixed, time_slicing({entry("gpu", 2, DeviceList{{"0:0"}})})),
       "gpu=1 mig-1g.5gb=1",
       {"device 0:0", "nvidia.com/gpu"}},
      {"more than there are",
       machine_of({t4(0)}),
       time_slicing({entry("gpu", 2, DeviceCount{3})}),
       "gpu=2",
       {"3 devices where there are 1"}},
      {"two claims on one device",
       machine_of({t4(0), t4(1)}),
       time_slicing(
           {entry("gpu", 2, DeviceList{{"0"}}, "a"), entry("gpu", 4, DeviceList{{"0"}}, "b")}),
       "a=2 gpu=1",
       {"device 0", gpu_uuid(0), "already given to nvidia.com/a"}},
      {"empty MIG GPU",
       machine_of({a100_40gb(0).mig(), a100_40gb(1)}),
       with_mig(MigStrategy::kMixed),
       "gpu=1",
       {"GPU 0", "no MIG instances"}},
      {"pattern of no product",
       machine_of({l20(0), t4(1)}),
       patterns({}, {{"T4", {"nvidia.com/small"}}, {"*L20", {"nvidia.com/big"}}}),
       "big=1 gpu=1",
       {"resources.gpus: 'T4' matches no GPU", "NVIDIA L20, Tesla T4", "'*' stands for anything"}},
      {"pattern of no instance",
       machine_of({a100_40gb(0).mig({"1g.5gb"})}),
       patterns(with_mig(MigStrategy::kMixed), {}, {{"2g*", {"nvidia.com/x"}}}),
       "mig-1g.5gb=1",
       {"resources.mig: '2g*' matches no MIG instance", "(1g.5gb)"}},
      {"pattern of instances that are not advertised",
       machine_of({a100_40gb(0).mig({"1g.5gb"})}),
       patterns(with_mig(MigStrategy::kNone), {}, {{"1g*", {"nvidia.com/x"}}}),
       "gpu=1",
       {"resources.mig: '1g*' matches no MIG instance", "(it has none)"}},
  };
  for (const WarningRow& row : rows) {
    SCOPED_TRACE(row.name);
    const Offer offer = offered(row.machine, row.config);
    EXPECT_EQ(summary(offer), row.resources);
    ASSERT_THAT(offer.warnings, SizeIs(1));
    for (const std::string& phrase : row.phrases) {
      EXPECT_THAT(offer.warnings.front(), HasSubstr(phrase));
    }
  }
}

TEST(Warnings, NoneOfPatternsThatTheConfigurationsReaderSpeaksOf) {
  const auto empty = patterns({}, {{"", {"nvidia.com/x"}}});
  const auto later = patterns({}, {{"*", {"nvidia.com/x"}}, {"*T4", {"nvidia.com/y"}}});
  EXPECT_THAT(offered(machine_of({t4(0)}), empty).warnings, IsEmpty());
  EXPECT_THAT(offered(machine_of({t4(0)}), later).warnings, IsEmpty());
}

TEST(Mps, IsOfferedAsReplicas) {
  const Offer offer = offered(machine_of({t4(0), t4(1)}), mps({entry("gpu", 8, {}, "gpu.shared")}));
  EXPECT_THAT(offer.withheld, IsEmpty());
  EXPECT_EQ(summary(offer), "gpu.shared=16");
  EXPECT_EQ(offer.resources[0].sharing, config::SharingStrategy::kMps);
  EXPECT_TRUE(offer.resources[0].fail_requests_greater_than_one);
}

TEST(Mps, WinsOverTimeSlicing) {
  config::Config config = mps({entry("gpu", 2)});
  config.sharing.time_slicing = time_slicing({entry("gpu", 4)}).sharing.time_slicing;
  const Offer offer = offered(machine_of({t4(0)}), config);
  EXPECT_EQ(summary(offer), "gpu=2");
  EXPECT_EQ(offer.resources[0].sharing, config::SharingStrategy::kMps);
}

TEST(Mps, OneReplicaIsAWholeDevice) {
  const Offer offer = offered(machine_of({t4(0)}), mps({entry("gpu", 1)}));
  EXPECT_EQ(summary(offer), "gpu=1");
  EXPECT_EQ(offer.resources[0].sharing, config::SharingStrategy::kNone);
}

TEST(Mps, DevicesThatNoEntryClaimsAreOfferedWhole) {
  const Offer offer =
      offered(machine_of({t4(0), t4(1)}), mps({entry("gpu", 4, DeviceList{{"1"}}, "gpu.shared")}));
  EXPECT_EQ(summary(offer), "gpu=1 gpu.shared=4");
}

TEST(Mps, RefusesWithNvidiasWords) {
  const test::GpuBuilder v100(0, "Tesla V100-SXM2-16GB", 16160, {7, 0});
  const test::GpuBuilder p100(0, "Tesla P100-PCIE-16GB", 16280, {6, 0});
  struct Case {
    std::string name;
    gpu::Machine machine;
    config::Config config;
    std::string phrase;  // empty: it is offered
  };
  const std::vector<Case> cases = {
      {"a MIG instance", machine_of({a100_40gb(0).mig({"1g.5gb"})}),
       with_mig(MigStrategy::kSingle, mps({entry("gpu", 2)})),
       "sharing using MPS is not supported for MIG devices"},
      {"a GPU with MIG enabled", machine_of({a100_40gb(0).mig()}), mps({entry("gpu", 2)}),
       "sharing using MPS is not supported for MIG devices"},
      {"48 of a T4", machine_of({t4(0)}), mps({entry("gpu", 48)}), ""},
      {"49 of a T4", machine_of({t4(0)}), mps({entry("gpu", 49)}),
       "maximum allowed replicas exceeded: 49 > 48"},
      {"48 of a V100, which NVIDIA's takes for older", machine_of({v100}), mps({entry("gpu", 48)}),
       ""},
      {"49 of a V100", machine_of({v100}), mps({entry("gpu", 49)}),
       "maximum allowed replicas exceeded: 49 > 48"},
      {"16 of a P100", machine_of({p100}), mps({entry("gpu", 16)}), ""},
      {"17 of a P100", machine_of({p100}), mps({entry("gpu", 17)}),
       "maximum allowed replicas exceeded: 17 > 16"},
      {"49 by time slicing", machine_of({t4(0)}), time_slicing({entry("gpu", 49)}), ""},
  };
  for (const Case& row : cases) {
    SCOPED_TRACE(row.name);
    const Offer offer = offered(row.machine, row.config);
    EXPECT_THAT(offer.resources, SizeIs(row.phrase.empty() ? 1 : 0));
    ASSERT_THAT(offer.withheld, SizeIs(row.phrase.empty() ? 0 : 1));
    if (row.phrase.empty()) continue;
    EXPECT_THAT(offer.withheld[0].reason, HasSubstr(row.phrase));
  }
}

TEST(Mps, OneGpuThatItCannotShareLeavesTheOthers) {
  const Offer offer =
      offered(machine_of({a100_40gb(0), a100_40gb(1).mig(), a100_40gb(2)}), mps({entry("gpu", 4)}));
  EXPECT_EQ(summary(offer), "gpu=8");
  ASSERT_THAT(offer.withheld, SizeIs(1));
  EXPECT_THAT(offer.withheld[0].devices, ElementsAre("GPU 1 (" + gpu_uuid(1) + ")"));
  EXPECT_THAT(describe(offer.withheld[0]),
              HasSubstr("GPU 1 (" + gpu_uuid(1) + ") of nvidia.com/gpu: sharing using MPS is not"));
}

struct LongRow {
  std::string name;
  gpu::Machine machine;
  int replicas;
  std::string most;  // replicas that fit; empty: these do
};

TEST(Limits, ATooLongListIsWithheldByItsBytes) {
  const auto on_node = [](int count, int numa) {
    auto machine = machine_of(count, a100_40gb);
    for (auto& gpu : machine.gpus) gpu.numa_node = numa;
    return machine;
  };
  // 68 bytes each with the numbers of 5 digits: "GPU-<36>::16383", "Unhealthy", node 1.
  const std::vector<LongRow> rows = {
      {"one GPU", machine_of({t4(0)}), 60'000, ""},
      {"together too many", on_node(4, 1), 16'384, "15583"},
      {"the most of these", on_node(4, 1), 15'583, ""},
      {"one more", on_node(4, 1), 15'584, "15583"},
      {"sixteen", on_node(16, 0), 6'250, "4050"},
      {"beyond all numbers", machine_of({t4(0)}), 2'000'000'000, "63718"},
  };
  for (const LongRow& row : rows) {
    SCOPED_TRACE(row.name);
    const Offer offer = offered(row.machine, time_slicing({entry("gpu", row.replicas)}));
    EXPECT_THAT(offer.resources, SizeIs(row.most.empty() ? 1 : 0));
    ASSERT_THAT(offer.withheld, SizeIs(row.most.empty() ? 0 : 1));
    if (row.most.empty()) continue;
    EXPECT_THAT(offer.withheld[0].reason,
                HasSubstr("are more than kubelet can be told of in one message"));
    EXPECT_THAT(offer.withheld[0].reason,
                HasSubstr("lower `replicas`, to " + row.most + " at most"));
  }
}

}  // namespace
}  // namespace tranche::offer::make_offer_test
