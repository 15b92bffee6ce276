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

TEST(Target, HasNoModeThatWaitsForAReset) {
  auto goes_off = with({large(4)});
  goes_off.waits = true;
  EXPECT_EQ(target({.devices = {{"3g.40gb", 1}}}, goes_off)->at(kGpu), with({large(4)}));
}

TEST(Target, IsWhatTheGpuHasHoweverComputeInstancesShareGpuInstances) {
  auto two = large(0);
  two.compute = {1, 1};
  auto one = large(4);
  one.compute = {1};
  EXPECT_EQ(target({.devices = {{"1c.3g.40gb", 3}}}, with({two, one}))->at(kGpu), with({two, one}));
  auto empty = large(4);
  empty.compute = {};
  EXPECT_EQ(target({.devices = {{"1c.3g.40gb", 2}}}, with({two, empty}))->at(kGpu), with({two}))
      << "one without a compute instance is no MIG device";
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

TEST(Target, OfSeveralGpusTheFirstByIndexIsNamed) {
  auto two = machine();
  two.gpus.push_back(two.gpus[0]);
  two.gpus[0].uuid = {"GPU-9"};
  two.gpus[1].index = 1;
  const GpuWish wish{.devices = {{"1g.10gb", 8}}};
  const auto none =
      target_of({{kGpu, wish}, {{"GPU-9"}, wish}}, two, {{kGpu, {}}, {{"GPU-9"}, {}}});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what, HasSubstr("GPU 0 ("));
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
