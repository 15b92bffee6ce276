#include "labels/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "labels/testing.h"
#include "support/machines.h"

namespace tranche::labels::labels_test {
namespace {

using config::Config;
using config::MigStrategy;
using gpu::Machine;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

TEST(MakeLabels, PublishedSetOfTwentySixLines) {
  const auto set = labels_of(mock_a100(), {}, 1700000000);
  const Labels want = {
      {"nvidia.com/cuda.driver-version.full", "550.163.01"},
      {"nvidia.com/cuda.driver-version.major", "550"},
      {"nvidia.com/cuda.driver-version.minor", "163"},
      {"nvidia.com/cuda.driver-version.revision", "01"},
      {"nvidia.com/cuda.driver.major", "550"},
      {"nvidia.com/cuda.driver.minor", "163"},
      {"nvidia.com/cuda.driver.rev", "01"},
      {"nvidia.com/cuda.runtime-version.full", "12.4"},
      {"nvidia.com/cuda.runtime-version.major", "12"},
      {"nvidia.com/cuda.runtime-version.minor", "4"},
      {"nvidia.com/cuda.runtime.major", "12"},
      {"nvidia.com/cuda.runtime.minor", "4"},
      {"nvidia.com/gfd.timestamp", "1700000000"},
      {"nvidia.com/gpu.compute.major", "8"},
      {"nvidia.com/gpu.compute.minor", "0"},
      {"nvidia.com/gpu.count", "8"},
      {"nvidia.com/gpu.family", "ampere"},
      {"nvidia.com/gpu.machine", "unknown"},
      {"nvidia.com/gpu.memory", "40960"},
      {"nvidia.com/gpu.mode", "unknown"},
      {"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB"},
      {"nvidia.com/gpu.replicas", "1"},
      {"nvidia.com/gpu.sharing-strategy", "none"},
      {"nvidia.com/mig.capable", "true"},
      {"nvidia.com/mps.capable", "false"},
      {"nvidia.com/vgpu.present", "false"},
  };
  EXPECT_EQ(set.labels.size(), 26U);
  EXPECT_EQ(set.labels, want);
  EXPECT_THAT(set.warnings, IsEmpty());
}

// product, replicas, sharing-strategy, count, mps.capable of nvidia.com/gpu.
TEST(MakeLabels, SharingOfWholeGpus) {
  struct Case {
    std::string name;
    Machine machine;
    Config config;
    std::vector<std::string> want;
  };
  const auto a100 = mock_a100();
  const auto l20 = test::machine_of({test::l20(0)});
  const auto t4 = test::machine_of({test::t4(0)});
  const auto all_mig = test::machine_of({test::a100_40gb(0).mig({"1g.5gb"})});
  const std::string a = "NVIDIA-A100-SXM4-40GB";
  const std::vector<Case> cases = {
      {"none", a100, {}, {a, "1", "none", "8", "false"}},
      {"time-slicing",
       a100,
       time_slicing({entry("gpu", 4)}),
       {a + "-SHARED", "4", "time-slicing", "8", "false"}},
      {"renamed",
       a100,
       time_slicing({entry("gpu", 4, "gpu.shared")}),
       {a, "4", "time-slicing", "8", "false"}},
      {"renamed to itself",
       a100,
       time_slicing({entry("gpu", 4, "gpu")}),
       {a + "-SHARED", "4", "time-slicing", "8", "false"}},
      {"mps", a100, mps({entry("gpu", 4)}), {a + "-SHARED", "4", "mps", "8", "true"}},
      {"mps renamed", a100, mps({entry("gpu", 8, "gpu.shared")}), {a, "8", "mps", "8", "true"}},
      {"one replica is not shared",
       a100,
       time_slicing({entry("gpu", 1)}),
       {a, "1", "none", "8", "false"}},
      {"twice the same resource: the highest",
       a100,
       time_slicing({entry("gpu", 2), entry("gpu", 3)}),
       {a + "-SHARED", "3", "time-slicing", "8", "false"}},
      {"another resource only",
       a100,
       time_slicing({entry("mig-1g.5gb", 3)}),
       {a, "1", "none", "8", "false"}},
      {"every GPU MIG-enabled, strategy none",
       all_mig,
       time_slicing({entry("gpu", 4)}),
       {a, "0", "none", "1", "false"}},
      {"every GPU MIG-enabled, strategy mixed",
       all_mig,
       time_slicing({entry("gpu", 4)}, MigStrategy::kMixed),
       {a, "0", "none", "1", "false"}},
      // The keys of the scenarios.
      {"any on L20",
       l20,
       time_slicing({entry("gpu", 2)}),
       {"NVIDIA-L20-SHARED", "2", "time-slicing", "1", "false"}},
      {"l20",
       l20,
       time_slicing({entry("gpu", 8)}),
       {"NVIDIA-L20-SHARED", "8", "time-slicing", "1", "false"}},
      {"t4",
       t4,
       time_slicing({entry("gpu", 3)}),
       {"Tesla-T4-SHARED", "3", "time-slicing", "1", "false"}},
      {"tesla-t4",
       t4,
       time_slicing({entry("gpu", 4)}),
       {"Tesla-T4-SHARED", "4", "time-slicing", "1", "false"}},
      {"a100-40gb, MIG off",
       a100,
       time_slicing({entry("gpu", 8), entry("mig-1g.5gb", 2)}),
       {a + "-SHARED", "8", "time-slicing", "8", "false"}},
      {"default, timeslice-4, inference",
       t4,
       time_slicing({entry("gpu", 4, "gpu.shared")}),
       {"Tesla-T4", "4", "time-slicing", "1", "false"}},
      {"training", t4, time_slicing({entry("gpu", 1)}), {"Tesla-T4", "1", "none", "1", "false"}},
      {"development",
       t4,
       time_slicing({entry("gpu", 8, "gpu.shared")}),
       {"Tesla-T4", "8", "time-slicing", "1", "false"}},
  };
  for (const auto& c : cases) {
    const auto set = labels_of(c.machine, c.config);
    EXPECT_THAT((std::vector{label(set, "gpu.product"), label(set, "gpu.replicas"),
                             label(set, "gpu.sharing-strategy"), label(set, "gpu.count"),
                             label(set, "mps.capable")}),
                testing::ElementsAreArray(c.want))
        << c.name;
  }
}

TEST(MakeLabels, SharingOfSomeDevicesOnly) {
  struct Case {
    std::string name;
    config::Devices devices;
    std::string replicas;
  };
  // L20 is index 0 and gives the labels; the T4s are 1 and 2.
  const auto machine = test::machine_of({test::l20(0), test::t4(1), test::t4(2)});
  const std::vector<Case> cases = {
      {"all", config::AllDevices{}, "4"},
      {"the first one", config::DeviceCount{1}, "4"},
      {"index of it", config::DeviceList{{"0"}}, "4"},
      {"uuid of it", config::DeviceList{{test::gpu_uuid(0)}}, "4"},
      {"others only", config::DeviceList{{"1", "2"}}, "1"},
  };
  for (const auto& c : cases) {
    auto config = time_slicing({entry("gpu", 4)});
    config.sharing.time_slicing->resources[0].devices = c.devices;
    EXPECT_EQ(label(labels_of(machine, config), "gpu.replicas"), c.replicas) << c.name;
  }
}

TEST(MakeLabels, UuidInAnotherCase) {
  const auto machine =
      test::machine_of({test::l20(0).uuid("GPU-8dcd427f-483b-b48f-d7e5-75fb19a52b76")});
  auto config = time_slicing({entry("gpu", 2)});
  config.sharing.time_slicing->resources[0].devices =
      config::DeviceList{{"GPU-8DCD427F-483B-B48F-D7E5-75FB19A52B76"}};
  EXPECT_EQ(label(labels_of(machine, config), "gpu.replicas"), "2");
}

TEST(MakeLabels, PatternNamesAnotherResource) {
  const auto machine = test::machine_of({test::l20(0)});
  auto config = time_slicing({entry("gpu", 8), entry("l20", 2)});
  config.gpus = {{.pattern = "*L20*", .name = {"nvidia.com/l20"}}};
  const auto set = labels_of(machine, config);
  EXPECT_EQ(label(set, "gpu.replicas"), "2");
  EXPECT_EQ(label(set, "gpu.product"), "NVIDIA-L20-SHARED");
}

TEST(MakeLabels, Mode) {
  struct Case {
    std::string name;
    std::vector<test::GpuBuilder> gpus;
    std::vector<std::uint32_t> classes;  // of the GPUs, in order; those without one are unreadable
    std::string want;
  };
  const std::vector<Case> cases = {
      {"3D controllers", {test::l20(0), test::l20(1)}, {0x030200, 0x030200}, "compute"},
      {"VGA", {test::l20(0)}, {0x030000}, "graphics"},
      {"both", {test::l20(0), test::l20(1)}, {0x030000, 0x030200}, "unknown"},
      {"another class", {test::l20(0)}, {0x120000}, "unknown"},
      {"none readable", {test::l20(0)}, {}, "unknown"},
      {"one unreadable", {test::l20(0), test::l20(1)}, {0x030200}, "unknown"},
      {"a card for displays that is left out",
       {test::a100_80gb(0), test::dgx_display(1), test::a100_80gb(2)},
       {0x030200, 0x030000, 0x030200},
       "compute"},
  };
  for (const auto& c : cases) {
    auto machine = test::machine_of(c.gpus);
    machine.host.display_classes.clear();
    for (std::size_t i = 0; i < c.classes.size(); ++i) {
      machine.host.display_classes[machine.gpus[i].pci] = c.classes[i];
    }
    EXPECT_EQ(label(labels_of(machine, {}), "gpu.mode"), c.want) << c.name;
  }
}

// A GPU that vfio holds for a virtual machine is on the bus and not in NVML.
TEST(MakeLabels, ModeIsOfTheGpusThatNvmlLists) {
  auto machine = test::machine_of({test::l20(0)});
  machine.host.display_classes[{0, 0xe1, 0, 0}] = 0x030000;
  EXPECT_EQ(label(labels_of(machine, {}), "gpu.mode"), "compute");
}

TEST(MakeLabels, DriverVersion) {
  auto machine = test::machine_of({test::t4(0)});
  machine.driver_version = "570.158";
  const auto two = labels_of(machine, {});
  EXPECT_EQ(label(two, "cuda.driver-version.full"), "570.158");
  EXPECT_EQ(label(two, "cuda.driver-version.revision"), "");
  EXPECT_EQ(label(two, "cuda.driver.rev"), "");
  for (const std::string bad : {"", "570", "570.158.01.02"}) {
    machine.driver_version = bad;
    const auto set = make_labels(machine, {}, {});
    ASSERT_FALSE(set.has_value()) << bad;
    EXPECT_EQ(set.error().code, Code::kFailedPrecondition) << bad;
  }
}

TEST(MakeLabels, UnknownRuntimeVersionIsLeftOut) {
  auto machine = test::machine_of({test::t4(0)});
  machine.cuda_driver_version = 0;
  const auto set = labels_of(machine, {});
  EXPECT_THAT(set.labels, Not(Contains(Key(StartsWith("nvidia.com/cuda.runtime")))));
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("CUDA version")));
}

TEST(MakeLabels, MachineIsSanitised) {
  auto machine = test::machine_of({test::t4(0)});
  machine.host.product_name = "PowerEdge R750 (SKU=NotProvided)";
  EXPECT_EQ(label(labels_of(machine, {}), "gpu.machine"), "PowerEdge-R750-SKUNotProvided");
}

TEST(MakeLabels, ValueThatKubernetesRefusesIsLeftOut) {
  auto machine = test::machine_of({test::t4(0)});
  machine.host.product_name = std::string(64, 'x');
  const auto set = labels_of(machine, {});
  EXPECT_EQ(label(set, "gpu.machine"), "(absent)");
  EXPECT_EQ(label(set, "gpu.product"), "Tesla-T4");
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("nvidia.com/gpu.machine left out")));
}

TEST(MakeLabels, NothingKnownOfMemoryOrCapability) {
  auto machine = test::machine_of({test::t4(0).memory_mib(0)});
  machine.gpus[0].compute_capability = {};
  const auto set = labels_of(machine, {});
  for (const std::string key : {"gpu.memory", "gpu.family", "gpu.compute.major"}) {
    EXPECT_EQ(label(set, key), "(absent)") << key;
  }
  // As with NVIDIA's feature discovery, less than a MiB is nothing known.
  machine.gpus[0].memory = Bytes{1'047'552};
  EXPECT_EQ(label(labels_of(machine, {}), "gpu.memory"), "(absent)");
}

TEST(MakeLabels, SeveralModels) {
  const auto set = labels_of(test::machine_of({test::l20(0), test::t4(1), test::t4(2)}), {});
  EXPECT_EQ(label(set, "gpu.product"), "NVIDIA-L20");
  EXPECT_EQ(label(set, "gpu.count"), "1");
  EXPECT_EQ(label(set, "mig.capable"), "false");
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("1 x NVIDIA L20, 2 x Tesla T4")));
}

TEST(MakeLabels, OfSeveralModelsOneThatIsWhole) {
  const auto machine = test::machine_of({test::a100_40gb(0).mig({"1g.5gb"}), test::t4(1)});
  const auto set = labels_of(machine, with_strategy(config::MigStrategy::kMixed));
  EXPECT_EQ(label(set, "gpu.product"), "Tesla-T4");
  EXPECT_EQ(label(set, "gpu.replicas"), "1");
  EXPECT_EQ(label(set, "gpu.family"), "turing");
  EXPECT_EQ(label(set, "mig-1g.5gb.product"), "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb");
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("the labels describe Tesla T4;")));
}

TEST(MakeLabels, Clique) {
  const auto one = test::machine_of({test::h100(0).fabric("c1", 7), test::h100(1).fabric("c1", 7)});
  EXPECT_EQ(label(labels_of(one, {}), "gpu.clique"), "c1.7");
  const auto two = test::machine_of({test::h100(0).fabric("c1", 7), test::h100(1).fabric("c1", 8)});
  const auto set = labels_of(two, {});
  EXPECT_EQ(label(set, "gpu.clique"), "(absent)");
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("2 NVLink cliques (c1.7, c1.8)")));
}

TEST(MakeLabels, Vgpu) {
  auto machine = test::machine_of({test::t4(0)});
  machine.host.pci_known = false;
  EXPECT_EQ(label(labels_of(machine, {}), "vgpu.present"), "(absent)");
  machine.host.pci_known = true;
  machine.host.vgpu = {.host_driver_version = "550.90.05", .host_driver_branch = "r550_00"};
  const auto set = labels_of(machine, {});
  EXPECT_EQ(label(set, "vgpu.present"), "true");
  EXPECT_EQ(label(set, "vgpu.host-driver-version"), "550.90.05");
  EXPECT_EQ(label(set, "vgpu.host-driver-branch"), "r550_00");
}

TEST(MakeLabels, NoGpus) {
  const auto set = labels_of({}, time_slicing({entry("gpu", 4)}), 1700000000);
  EXPECT_THAT(set.labels, ElementsAre(Pair("nvidia.com/gfd.timestamp", "1700000000"),
                                      Pair("nvidia.com/vgpu.present", "false")));
  EXPECT_EQ(labels_of({}, {}).labels.size(), 1U);
}

TEST(MakeLabels, GpusThatDoNotCount) {
  auto machine =
      test::machine_of({test::dgx_display(0), test::a100_40gb(1), test::a100_40gb(2).lost(),
                        test::a100_40gb(3).name("").lost("fell off the bus")});
  const auto set = labels_of(machine, {});
  EXPECT_EQ(label(set, "gpu.product"), "NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(label(set, "gpu.count"), "2") << "a lost GPU is still offered, as unhealthy";
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("GPU 3 does not tell its name")));
}

TEST(MakeLabels, MpsNeedsWholeGpus) {
  const auto set = make_labels(test::machine_of({test::a100_40gb(0).mig({"1g.5gb"})}),
                               mps({entry("gpu", 4)}), {});
  ASSERT_FALSE(set.has_value());
  EXPECT_THAT(set.error().what, HasSubstr("MPS sharing is not supported for mig devices"));
  EXPECT_THAT(set.error().hint, Not(IsEmpty()));
}

}  // namespace
}  // namespace tranche::labels::labels_test
