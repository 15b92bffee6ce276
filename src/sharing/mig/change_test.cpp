#include "mig/change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::mig::change_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const gpu::GpuUuid kFirst{"GPU-1"};
const gpu::GpuUuid kSecond{"GPU-2"};

// The geometry of an A100-80GB.
gpu::MigGeometry geometry() {
  return {.compute_slices = 7,
          .memory_slices = 8,
          .profiles = {{.name = "1g.10gb", .id = 19, .compute_slices = 1, .memory_slices = 1},
                       {.name = "2g.20gb", .id = 14, .compute_slices = 2, .memory_slices = 2},
                       {.name = "3g.40gb", .id = 9, .compute_slices = 3, .memory_slices = 4}}};
}

Instance small(int start) { return {.profile_id = 19, .placement = {start, 1}, .compute = {1}}; }
Instance middle(int start) { return {.profile_id = 14, .placement = {start, 2}, .compute = {2}}; }
Instance large(int start, std::vector<int> compute = {3}) {
  return {.profile_id = 9, .placement = {start, 4}, .compute = std::move(compute)};
}
GpuLayout with(std::vector<Instance> instances) {
  return {.enabled = true, .instances = std::move(instances)};
}
const GpuLayout kOff{};

std::vector<std::string> steps(const Layout& from, const Layout& to, bool reset = false) {
  const auto change = make_change(from, to, [&](const gpu::GpuUuid&) { return reset; });
  if (!change) return {change.error().message()};
  std::vector<std::string> lines;
  for (const auto& step : change->steps) {
    lines.push_back(describe(step, geometry(), step.gpu == kFirst ? 0 : 1));
  }
  return lines;
}
std::vector<std::string> steps(const GpuLayout& from, const GpuLayout& to, bool reset = false) {
  return steps({{kFirst, from}}, {{kFirst, to}}, reset);
}

TEST(Change, AMatchingLayoutHasNoSteps) {
  EXPECT_THAT(steps(kOff, kOff), IsEmpty());
  EXPECT_THAT(steps(with({large(0), small(4)}), with({large(0), small(4)})), IsEmpty());
}

TEST(Change, OnlyInstancesThatDifferHaveStepsAndDestroyingComesFirst) {
  EXPECT_THAT(steps(with({large(0), small(4), small(5)}), with({large(0), middle(4)})),
              ElementsAre("destroy a compute instance (1c) in 1g.10gb at 4 of GPU 0",
                          "destroy 1g.10gb at 4 of GPU 0",
                          "destroy a compute instance (1c) in 1g.10gb at 5 of GPU 0",
                          "destroy 1g.10gb at 5 of GPU 0", "create 2g.20gb at 4 of GPU 0",
                          "create a compute instance (2c) in 2g.20gb at 4 of GPU 0"));
}

TEST(Change, OnlyGpusThatDifferHaveSteps) {
  EXPECT_THAT(steps({{kFirst, with({small(0)})}, {kSecond, kOff}},
                    {{kFirst, with({small(0)})}, {kSecond, with({})}}),
              ElementsAre("turn MIG mode on: GPU 1"));
}

TEST(Change, AGpuThatIsNotSpokenOfStaysOut) {
  const auto change = make_change({{kFirst, with({small(0)})}, {kSecond, kOff}},
                                  {{kSecond, with({})}}, [](const auto&) { return false; });
  ASSERT_TRUE(change);
  EXPECT_EQ(change->from, (Layout{{kSecond, kOff}}));
}

TEST(Change, ModeOnComesBeforeTheInstancesAndModeOffAfterThem) {
  EXPECT_THAT(steps(kOff, with({small(2)})),
              ElementsAre("turn MIG mode on: GPU 0", "create 1g.10gb at 2 of GPU 0",
                          "create a compute instance (1c) in 1g.10gb at 2 of GPU 0"));
  EXPECT_THAT(steps(with({small(2)}), kOff),
              ElementsAre("destroy a compute instance (1c) in 1g.10gb at 2 of GPU 0",
                          "destroy 1g.10gb at 2 of GPU 0", "turn MIG mode off: GPU 0"));
}

TEST(Change, AResetFollowsTheModeWhereItNeedsOneAndOnlyThen) {
  EXPECT_THAT(steps(kOff, with({}), true), ElementsAre("turn MIG mode on: GPU 0", "reset GPU 0"));
  EXPECT_THAT(steps(with({}), kOff, true), ElementsAre("turn MIG mode off: GPU 0", "reset GPU 0"));
  EXPECT_THAT(steps(with({small(0)}), with({}), true),
              ElementsAre("destroy a compute instance (1c) in 1g.10gb at 0 of GPU 0",
                          "destroy 1g.10gb at 0 of GPU 0"));
}

TEST(Change, APendingModeIsPartOfTheLayout) {
  const GpuLayout on_waits{.enabled = false, .instances = {}, .waits = true};
  const GpuLayout off_waits{.enabled = true, .instances = {}, .waits = true};
  const std::string on = "set MIG mode on for the next reset: GPU 0";
  const std::string off = "set MIG mode off for the next reset: GPU 0";
  struct Case {
    const char* name;
    GpuLayout from, to;
    std::vector<std::string> steps;
  };
  for (const auto& [name, from, to, expected] : std::initializer_list<Case>{
           {"it is as it was", on_waits, on_waits, {}},
           {"nobody wishes it", on_waits, kOff, {off}},
           {"nobody wishes it off", off_waits, with({}), {on}},
           {"it is wished", on_waits, with({}), {"turn MIG mode on: GPU 0", "reset GPU 0"}},
           {"it was taken back meanwhile", kOff, on_waits, {on}},
           {"off was taken back meanwhile", with({}), off_waits, {off}},
           {"it has come meanwhile", with({}), on_waits, {}},
           {"it has come, and instances",
            with({large(0, {})}),
            on_waits,
            {"destroy 3g.40gb at 0 of GPU 0"}},
           {"off has come meanwhile", kOff, off_waits, {}},
           {"it waited beside instances",
            with({small(0)}),
            {.enabled = true, .instances = {small(0)}, .waits = true},
            {}},
       }) {
    EXPECT_EQ(steps(from, to, true), expected) << name;
  }
}

TEST(Change, AGpuInstanceStaysWithOtherComputeInstances) {
  EXPECT_THAT(steps(with({large(0)}), with({large(0, {1, 2})})),
              ElementsAre("destroy a compute instance (3c) in 3g.40gb at 0 of GPU 0",
                          "create a compute instance (2c) in 3g.40gb at 0 of GPU 0",
                          "create a compute instance (1c) in 3g.40gb at 0 of GPU 0"));
  EXPECT_THAT(steps(with({large(0, {})}), with({large(0)})),
              ElementsAre("create a compute instance (3c) in 3g.40gb at 0 of GPU 0"));
}

TEST(Change, ComputeInstancesStayForOnlyAdditionsOrOnlyRemovals) {
  EXPECT_THAT(steps(with({large(0, {1})}), with({large(0, {1, 1})})),
              ElementsAre("create a compute instance (1c) in 3g.40gb at 0 of GPU 0"));
  const auto change = make_change({{kFirst, with({large(0, {1, 2})})}},
                                  {{kFirst, with({large(0, {1})})}}, [](auto&) { return false; });
  ASSERT_EQ(change->steps.size(), 1U);
  EXPECT_EQ(change->steps[0].kind, Step::Kind::kDestroyCompute);
  EXPECT_EQ(change->steps[0].compute, 1U);
}

TEST(Change, TheOrderOfComputeInstancesIsNoDifference) {
  EXPECT_THAT(steps(with({large(0, {1, 2})}), with({large(0, {2, 1})})), IsEmpty());
}

TEST(Change, AnImpossibleOneIsRefused) {
  EXPECT_THAT(steps({{kFirst, kOff}}, {{kSecond, kOff}}),
              ElementsAre("it is not known what GPU-2 has"));
  EXPECT_THAT(steps(kOff, {.enabled = false, .instances = {small(0)}}),
              ElementsAre("GPU-1 shall have instances without MIG mode"));
}

// As reported by the driver, with the compute instances next to each other.
gpu::MigState state_of(const GpuLayout& layout) {
  gpu::MigState state{.enabled = layout.enabled, .pending = layout.enabled, .instances = {}};
  for (const auto& one : layout.instances) {
    gpu::GpuInstance instance{
        .profile_id = one.profile_id, .placement = one.placement, .compute = {}};
    int start = 0;
    for (const int slices : one.compute) {
      instance.compute.push_back({.slices = slices, .start = start});
      start += slices;
    }
    state.instances.push_back(std::move(instance));
  }
  return state;
}
Leaving leaving_of(const GpuLayout& from, const GpuLayout& to) {
  return leaving(state_of(from), to, geometry());
}

TEST(Leaving, AreTheInstancesThatGo) {
  const auto from = with({large(0), small(4), small(5)});
  EXPECT_THAT(leaving_of(from, from).instances, IsEmpty());
  EXPECT_THAT(leaving_of(from, with({large(0), small(5)})).instances, ElementsAre(small(4)));
  EXPECT_FALSE(leaving_of(from, with({})).whole_gpu);
  EXPECT_THAT(leaving_of(with({large(0)}), with({large(0, {1})})).instances, ElementsAre(large(0)));
  EXPECT_THAT(leaving_of(with({large(0, {1})}), with({large(0, {1, 1})})).instances, IsEmpty());
}

TEST(Leaving, AreComputeInstancesThatMayHaveToMakeWayForALargerOne) {
  const auto wanted = with({large(0, {2, 1})});
  gpu::MigState from{.enabled = true, .pending = true, .instances = {}};
  from.instances.push_back({.profile_id = 9, .placement = {0, 4}, .compute = {{0, 1, 1}}});
  EXPECT_THAT(leaving(from, wanted, geometry()).instances, ElementsAre(large(0, {1})));
  // At 1 the driver may not accept one of two slices.
  from.instances[0].compute = {{0, 1, 0}};
  EXPECT_THAT(leaving(from, wanted, geometry()).instances, ElementsAre(large(0, {1})));
  from.instances[0].compute = {{0, 1, 2}};
  EXPECT_THAT(leaving(from, wanted, geometry()).instances, IsEmpty());
  from.instances[0].compute = {};
  EXPECT_THAT(leaving(from, wanted, geometry()).instances, IsEmpty());
}

TEST(Leaving, AModeChangeNeedsTheWholeGpu) {
  EXPECT_TRUE(leaving_of(kOff, with({})).whole_gpu);
  const auto off = leaving_of(with({small(3)}), kOff);
  EXPECT_TRUE(off.whole_gpu);
  EXPECT_THAT(off.instances, ElementsAre(small(3)));
  EXPECT_FALSE(leaving_of(kOff, kOff).whole_gpu);
}

}  // namespace
}  // namespace tranche::mig::change_test
