#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mig/parted_testing.h"

namespace tranche::mig::parted_machine_test {
namespace {

using namespace parted_testing;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(PartedWishes, ALaterEntryWins) {
  const auto file = parse(
      "version: v1\nmig-configs: {one: [{devices: all, mig-enabled: false}, {devices: [1], "
      "mig-enabled: true, mig-devices: {}}]}");
  EXPECT_THAT(wishes(*file, "one", machine({gpu_of(0, "a30-24gb"), gpu_of(1, "a30-24gb")})),
              ElementsAre("0: MIG off", "1:"));
}

TEST(PartedWishes, GpusThatNoEntryNamesAreLeftAlone) {
  EXPECT_THAT(wishes("{devices: [2], mig-enabled: false}", four()), ElementsAre("2: MIG off"));
}

TEST(PartedWishes, AllButNoneIsForNoGpu) {
  EXPECT_THAT(wishes("{devices: [], mig-enabled: false}", four()),
              ElementsAre(HasSubstr("no entry of layout \"one\" is for a GPU of this machine")));
}

TEST(PartedWishes, AFilterChoosesByPciIds) {
  const auto both = machine({gpu_of(0, "a100-80gb"), gpu_of(1, "a30-24gb")});
  const auto with = [&](const char* filter) {
    return wishes(fmt::format("{{device-filter: {}, devices: all, mig-enabled: false}}", filter),
                  both);
  };
  EXPECT_THAT(with("'0x20B710DE'"), ElementsAre("1: MIG off"));
  EXPECT_THAT(with("['0x20B710DE', '0x20b210de']"), ElementsAre("0: MIG off", "1: MIG off"));
  EXPECT_THAT(with("'0x20B210DE:0x147F10DE'"), ElementsAre("0: MIG off"));
  EXPECT_THAT(with("'0x20B210DE:0x000110DE'"),
              ElementsAre("no entry of layout \"one\" is for a GPU of this machine; see its "
                          "device-filter and devices"));
}

TEST(PartedWishes, AMissingLayoutIsReportedWithTheExistingOnes) {
  const auto missing = wishes_of(*parse(scenario()), "all-balance", four());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_EQ(missing.error().message(),
            "there is no layout \"all-balance\" in the file; did you mean \"all-balanced\"? it has "
            "all-1g.10gb, all-balanced, mixed-workload");
}

TEST(PartedWishes, AFileWithoutLayoutsExplainsHowToNameOne) {
  const auto missing = wishes_of(*parse("version: v1"), "all-balanced", four());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message(),
            "there is no layout \"all-balanced\" in the file; it has none: name layouts in "
            "\"mig-configs\"");
}

TEST(PartedWishes, AMissingIndexIsRefused) {
  EXPECT_THAT(wishes("{devices: [0, 4], mig-enabled: false}", four()),
              ElementsAre("layouts.yaml:4: there is no GPU 4; this machine has 4 GPUs, counted "
                          "from 0"));
}

TEST(PartedWishes, GpusWithoutMigAreRefusedWithAnAlternative) {
  const auto asked =
      wishes_of(*parse(file_with("{devices: all, mig-enabled: true, mig-devices: {}}")), "one",
                machine({t4(0)}));
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, Code::kUnsupported);
  EXPECT_THAT(asked.error().message(),
              AllOf(HasSubstr("GPU 0 (Tesla T4) has no MIG"), HasSubstr("time-slicing")));
}

TEST(PartedWishes, AllMeansTheGpusThatHaveMig) {
  const auto both = machine({t4(0), gpu_of(1, "a30-24gb")});
  EXPECT_THAT(wishes("{devices: all, mig-enabled: true, mig-devices: {}}", both),
              ElementsAre("1:"));
  EXPECT_THAT(wishes("{devices: [0, 1], mig-enabled: true, mig-devices: {}}", both),
              ElementsAre(HasSubstr("GPU 0 (Tesla T4) has no MIG")));
  EXPECT_THAT(wishes("{devices: all, mig-enabled: false}", machine({t4(0)})), IsEmpty())
      << "nothing is asked of it";
}

}  // namespace
}  // namespace tranche::mig::parted_machine_test
