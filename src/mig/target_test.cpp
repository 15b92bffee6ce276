#include "mig/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/mig_tables.h"

namespace tranche::mig::target_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const gpu::GpuUuid kGpu{"GPU-1"};

gpu::Machine machine() {
  return {.gpus = {{.uuid = kGpu,
                    .name = "NVIDIA A100-SXM4-80GB",
                    .mig_mode = gpu::MigMode::kEnabled,
                    .mig_geometry = gpu::find_mig_model("a100-80gb")->geometry}}};
}
Instance large(int start) { return {.profile_id = 9, .placement = {start, 4}, .compute = {3}}; }
GpuLayout with(std::vector<Instance> instances) {
  return {.enabled = true, .instances = std::move(instances)};
}
Result<Layout> target(GpuWish wish, GpuLayout present, const IsHeld& is_held = {}) {
  return target_of({{kGpu, std::move(wish)}}, machine(), {{kGpu, std::move(present)}}, is_held);
}

TEST(Target, IsWhatTheGpuHasWhereThatMeetsTheWish) {
  EXPECT_EQ(target({.devices = {{"3g.40gb", 1}}}, with({large(4)}))->at(kGpu), with({large(4)}));
}

TEST(Target, ModeOffHasNoInstances) {
  EXPECT_EQ(target({.enabled = false}, with({large(4)}))->at(kGpu), GpuLayout{});
}

TEST(Target, OfTwoThatCouldStayTheHeldOneDoes) {
  for (const int held : {0, 4}) {
    const auto one = target({.devices = {{"3g.40gb", 1}}}, with({large(0), large(4)}),
                            [&](const gpu::GpuUuid&, const Instance& instance) {
                              return instance.placement.start == held;
                            });
    EXPECT_EQ(one->at(kGpu), with({large(held)}));
  }
}

TEST(Target, WhatHasNoPlaceIsRefusedWithTheNearestThatHas) {
  const auto none = target({.devices = {{"4g.40gb", 2}}}, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kInvalidArgument);
  EXPECT_THAT(none.error().message(),
              AllOf(HasSubstr("GPU 0 (NVIDIA A100-SXM4-80GB) has no place for 4g.40gb x 2"),
                    HasSubstr("nearest: ")));
}

TEST(Target, AProfileThatTheGpuLacksIsRefused) {
  const auto none = target({.devices = {{"1g.5gb", 2}}}, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kInvalidArgument);
  EXPECT_THAT(none.error().message(), AllOf(HasSubstr("GPU 0"), HasSubstr("1g.5gb")));
}

TEST(Target, AGpuOfWhichNothingIsKnownIsRefused) {
  EXPECT_EQ(target_of({{{"GPU-9"}, {}}}, machine(), {}).error().code, Code::kNotFound);
  EXPECT_EQ(target_of({{kGpu, {}}}, machine(), {}).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace tranche::mig::target_test
