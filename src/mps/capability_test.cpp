#include "mps/capability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::mps::capability_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Version, SaysWhatTheProgramCan) {
  struct Row {
    const char* name;
    const char* output;
    Capability capability;
  };
  const Row rows[] = {
      {"CUDA 13.4", "CUDA MPS Control binary version: 13040\n", {13040, true, true}},
      {"CUDA 13.1", "CUDA MPS Control binary version: 13010\n", {13010, false, true}},
      {"CUDA 13.0", "CUDA MPS Control binary version: 13000\n", {13000, false, false}},
      {"a later one", "CUDA MPS Control binary version: 14000", {14000, true, true}},
      {"a program without -v", "nvidia-cuda-mps-control: invalid option -- 'v'\n", {}},
      {"no number", "CUDA MPS Control binary version: unknown\n", {}},
      {"another kind of number", "Binary version: 4\n", {}},
      {"nothing", "", {}},
  };
  for (const Row& row : rows) EXPECT_EQ(read_version(row.output), row.capability) << row.name;
}

TEST(Version, IsDescribed) {
  EXPECT_EQ(describe({13040, true, true}), "of CUDA 13.4: protocols 2 and 3, static SM partitions");
  EXPECT_EQ(describe({13010, false, true}), "of CUDA 13.1: protocol 2, static SM partitions");
  EXPECT_EQ(describe({}), "of unknown version: protocol 2");
}

TEST(Settle, KeepsWhatIsThere) {
  const config::MpsControlRules all{.protocol = 3, .sm_partitions = 2};
  const auto settled = settle(all, {13040, true, true});
  EXPECT_EQ(settled.rules, all);
  EXPECT_THAT(settled.fallbacks, IsEmpty());
  EXPECT_THAT(settle({}, {}).fallbacks, IsEmpty());
}

TEST(Settle, FallsBackAndSaysSo) {
  const config::MpsControlRules all{.protocol = 3, .sm_partitions = config::EqualChunks{}};
  const auto partitions_alone = settle(all, {13010, false, true});
  EXPECT_EQ(partitions_alone.rules.protocol, 2);
  EXPECT_EQ(partitions_alone.rules.sm_partitions, all.sm_partitions);
  EXPECT_THAT(partitions_alone.fallbacks,
              ElementsAre("tranche.mps.protocol: nvidia-cuda-mps-control of CUDA 13.1 has no "
                          "protocol 3 (that is CUDA 13.4, driver r615, and later); protocol 2 is "
                          "used"));
  const auto neither = settle(all, {});
  EXPECT_EQ(neither.rules, config::MpsControlRules());
  EXPECT_THAT(neither.fallbacks,
              ElementsAre(HasSubstr("does not tell its version, has no protocol 3"),
                          HasSubstr("clients are limited by percentages")));
}

}  // namespace
}  // namespace tranche::mps::capability_test
