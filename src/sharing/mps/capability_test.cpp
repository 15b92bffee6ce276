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
      {"CUDA 13.4", "CUDA MPS Control binary version: 13040\n", {13040, true}},
      {"CUDA 13.1", "CUDA MPS Control binary version: 13010\n", {13010, true}},
      {"CUDA 13.0", "CUDA MPS Control binary version: 13000\n", {13000, false}},
      {"a later one", "CUDA MPS Control binary version: 14000", {14000, true}},
      {"a program without -v", "nvidia-cuda-mps-control: invalid option -- 'v'\n", {}},
      {"no number", "CUDA MPS Control binary version: unknown\n", {}},
      {"another kind of number", "Binary version: 4\n", {}},
      {"a driver's number", "Driver version: 570158\n", {}},
      {"a version in parts", "CUDA MPS Control binary version: 13040.2\n", {}},
      {"nothing", "", {}},
  };
  for (const Row& row : rows) EXPECT_EQ(read_version(row.output), row.capability) << row.name;
}

TEST(Version, IsDescribed) {
  EXPECT_EQ(describe({13010, true}), "of CUDA 13.1: protocol 2, static SM partitions");
  EXPECT_EQ(describe({}), "of unknown version: protocol 2");
}

TEST(Settle, KeepsWhatIsThere) {
  const config::MpsControlRules all{.protocol = protocols().back()->number(), .sm_partitions = 2};
  const auto settled = settle(all, {13040, true});
  EXPECT_EQ(settled.rules, all);
  EXPECT_THAT(settled.fallbacks, IsEmpty());
  EXPECT_THAT(settle({}, {}).fallbacks, IsEmpty());
}

TEST(Settle, FallsBackFromPartitionsAndSaysSo) {
  const auto settled = settle({.protocol = 2, .sm_partitions = config::EqualChunks{}}, {});
  EXPECT_EQ(settled.rules, config::MpsControlRules());
  EXPECT_THAT(settled.fallbacks, ElementsAre(HasSubstr("clients are limited by percentages")));
}

TEST(Settle, FallsBackFromAProtocolThatNobodySpeaks) {
  const auto settled = settle({.protocol = 99, .sm_partitions = {}}, {13040, true});
  EXPECT_EQ(settled.rules.protocol, 2);
  EXPECT_THAT(settled.fallbacks, ElementsAre("tranche.mps.protocol: this tranche has no protocol "
                                             "99; protocol 2 is used"));
}

}  // namespace
}  // namespace tranche::mps::capability_test
