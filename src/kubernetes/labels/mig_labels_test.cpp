// Labels under the MIG strategies single and mixed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "labels/testing.h"

namespace tranche::labels::mig_labels_test {
namespace {

using config::MigStrategy;
using gpu::Machine;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Key;
using testing::Not;
using testing::StartsWith;

TEST(MigLabels, Single) {
  const auto machine = test::machine_of(
      {test::a100_40gb(0).mig({"1g.5gb", "1g.5gb"}), test::a100_40gb(1).mig({"1g.5gb"})});
  const auto set = labels_of(machine, time_slicing({entry("gpu", 3)}, MigStrategy::kSingle));
  EXPECT_THAT(set.labels, IsSupersetOf(Labels{
                              {"nvidia.com/mig.strategy", "single"},
                              {"nvidia.com/mig.capable", "true"},
                              {"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"},
                              {"nvidia.com/gpu.count", "3"},
                              {"nvidia.com/gpu.replicas", "3"},
                              {"nvidia.com/gpu.sharing-strategy", "time-slicing"},
                              {"nvidia.com/gpu.memory", "5120"},
                              {"nvidia.com/gpu.multiprocessors", "14"},
                              {"nvidia.com/gpu.slices.gi", "1"},
                              {"nvidia.com/gpu.slices.ci", "1"},
                              {"nvidia.com/gpu.engines.copy", "1"},
                              {"nvidia.com/gpu.engines.decoder", "0"},
                              {"nvidia.com/gpu.engines.encoder", "0"},
                              {"nvidia.com/gpu.engines.jpeg", "0"},
                              {"nvidia.com/gpu.engines.ofa", "0"},
                              {"nvidia.com/gpu.family", "ampere"},
                          }));
  EXPECT_EQ(label(labels_of(machine, with_strategy(MigStrategy::kSingle)), "gpu.product"),
            "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb");
}

TEST(MigLabels, SingleInvalid) {
  struct Case {
    std::string name;
    Machine machine;
    std::string warning;
  };
  const std::vector<Case> cases = {
      {"a MIG GPU without instances",
       test::machine_of({test::a100_40gb(0).mig({"1g.5gb"}), test::a100_40gb(1).mig()}),
       "has no MIG instances"},
      {"MIG on and off", test::machine_of({test::a100_40gb(0).mig({"1g.5gb"}), test::a100_40gb(1)}),
       "enabled and disabled"},
      {"a model without MIG before it",
       test::machine_of({test::t4(0), test::a100_40gb(1).mig({"1g.5gb"})}), "enabled and disabled"},
      {"two profiles", test::machine_of({test::a100_40gb(0).mig({"1g.5gb", "2g.10gb"})}),
       "more than one MIG device type present on node"},
  };
  for (const auto& c : cases) {
    const auto set = labels_of(c.machine, time_slicing({entry("gpu", 3)}, MigStrategy::kSingle));
    EXPECT_THAT(set.labels,
                IsSupersetOf(Labels{{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-INVALID"},
                                    {"nvidia.com/gpu.count", "0"},
                                    {"nvidia.com/gpu.replicas", "0"},
                                    {"nvidia.com/gpu.memory", "0"},
                                    {"nvidia.com/gpu.sharing-strategy", ""},
                                    {"nvidia.com/mig.strategy", "single"}}))
        << c.name;
    EXPECT_THAT(set.labels, Not(Contains(Key("nvidia.com/gpu.slices.gi")))) << c.name;
    EXPECT_THAT(set.warnings, Contains(HasSubstr(c.warning))) << c.name;
  }
}

TEST(MigLabels, LeaveOutAGpuWhoseLayoutCouldNotBeRead) {
  auto machine = test::machine_of({test::a100_40gb(0).mig({"3g.20gb", "3g.20gb"}),
                                   test::a100_40gb(1), test::a100_40gb(2).mig()});
  for (const std::size_t i : {1, 2}) machine.gpus[i].mig_unread = "Unknown Error";
  const auto single = labels_of(machine, with_strategy(MigStrategy::kSingle));
  EXPECT_EQ(label(single, "gpu.product"), "NVIDIA-A100-SXM4-40GB-MIG-3g.20gb");
  EXPECT_EQ(label(single, "gpu.count"), "2");
  EXPECT_THAT(single.warnings,
              ElementsAre(HasSubstr("GPU 1 does not tell its MIG layout: Unknown Error"),
                          HasSubstr("GPU 2 does not tell its MIG layout")));
  const auto mixed = labels_of(machine, with_strategy(MigStrategy::kMixed));
  EXPECT_EQ(label(mixed, "gpu.replicas"), "0") << "no GPU is known to be whole";
  EXPECT_EQ(label(mixed, "mig-3g.20gb.count"), "2");
  EXPECT_EQ(label(labels_of(machine, {}), "gpu.count"), "3");
}

TEST(MigLabels, SingleWithoutMigGpus) {
  const auto set = labels_of(mock_a100(), time_slicing({entry("gpu", 2)}, MigStrategy::kSingle));
  EXPECT_EQ(label(set, "gpu.product"), "NVIDIA-A100-SXM4-40GB-SHARED");
  EXPECT_EQ(label(set, "mig.strategy"), "single");
  EXPECT_THAT(set.warnings, IsEmpty());
}

TEST(MigLabels, Mixed) {
  // The scenario's key a100-40gb on 2 x 1g.5gb, 2g.10gb, 3g.20gb.
  const auto machine =
      test::machine_of({test::a100_40gb(0).mig({"1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"})});
  const auto config = time_slicing(
      {entry("gpu", 8), entry("mig-1g.5gb", 2), entry("mig-2g.10gb", 2), entry("mig-3g.20gb", 3)},
      MigStrategy::kMixed);
  const auto set = labels_of(machine, config);
  EXPECT_THAT(set.labels,
              IsSupersetOf(Labels{
                  {"nvidia.com/mig.strategy", "mixed"},
                  {"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB"},
                  {"nvidia.com/gpu.count", "1"},
                  {"nvidia.com/gpu.replicas", "0"},
                  {"nvidia.com/mig-1g.5gb.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"},
                  {"nvidia.com/mig-1g.5gb.count", "2"},
                  {"nvidia.com/mig-1g.5gb.replicas", "2"},
                  {"nvidia.com/mig-1g.5gb.sharing-strategy", "time-slicing"},
                  {"nvidia.com/mig-1g.5gb.memory", "5120"},
                  {"nvidia.com/mig-2g.10gb.count", "1"},
                  {"nvidia.com/mig-2g.10gb.replicas", "2"},
                  {"nvidia.com/mig-2g.10gb.multiprocessors", "28"},
                  {"nvidia.com/mig-3g.20gb.count", "1"},
                  {"nvidia.com/mig-3g.20gb.replicas", "3"},
                  {"nvidia.com/mig-3g.20gb.slices.gi", "3"},
                  {"nvidia.com/mig-3g.20gb.engines.decoder", "1"},
              }));
}

TEST(MigLabels, MixedNamesAndPartialInstances) {
  const auto machine =
      test::machine_of({test::a100_40gb(0).mig({"1g.5gb+me", "1c.2g.10gb"}), test::a100_40gb(1)});
  const auto set = labels_of(machine, with_strategy(MigStrategy::kMixed));
  EXPECT_EQ(label(set, "mig-1g.5gb.me.product"), "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb.me");
  EXPECT_EQ(label(set, "mig-1g.5gb.me.engines.jpeg"), "1");
  EXPECT_EQ(label(set, "gpu.count"), "2");
  EXPECT_EQ(label(set, "gpu.replicas"), "1");
  EXPECT_EQ(label(set, "mig-1c.2g.10gb.product"), "NVIDIA-A100-SXM4-40GB-MIG-1c.2g.10gb");
  EXPECT_EQ(label(set, "mig-1c.2g.10gb.slices.gi"), "2");
  EXPECT_EQ(label(set, "mig-1c.2g.10gb.slices.ci"), "1");
  EXPECT_EQ(label(set, "mig-1c.2g.10gb.memory"), "10240");  // its GPU instance's
}

}  // namespace
}  // namespace tranche::labels::mig_labels_test
