// gpu::MigControl over NVML: what it does beyond the contract.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <tuple>

#include "contract/sim_machine.h"
#include "nvml/mig_control.h"

namespace tranche::nvml::nvml_mig_control_test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Profile ids of 7-slice GPUs.
constexpr int k1g = 19;
constexpr int k3g = 9;

TEST(NvmlMigControl, EveryCallThatFailsIsNamed) {
  struct Row {
    const char* function;
    int error;
    Code code;
  };
  const Row rows[] = {
      {"nvmlDeviceGetHandleByUUID", kUnknown, Code::kUnavailable},
      {"nvmlDeviceGetMigMode", kGpuIsLost, Code::kUnavailable},
      {"nvmlDeviceGetGpuInstanceProfileInfo", kUnknown, Code::kUnavailable},
      {"nvmlDeviceGetGpuInstances", kNoPermission, Code::kPermission},
      // No profile at all is no valid answer of a GPU in MIG mode, and does not mean a GPU without
      // instances.
      {"nvmlDeviceGetGpuInstanceProfileInfo", kNotSupported, Code::kUnavailable},
      // Somebody turns the mode off meanwhile.
      {"nvmlDeviceGetGpuInstances", kNotSupported, Code::kUnavailable},
      {"nvmlGpuInstanceGetInfo", kUnknown, Code::kUnavailable},
      {"nvmlGpuInstanceGetComputeInstanceProfileInfo", kUnknown, Code::kUnavailable},
      // The instance is gone.
      {"nvmlGpuInstanceGetComputeInstanceProfileInfo", kInvalidArgument, Code::kUnavailable},
      {"nvmlGpuInstanceGetComputeInstances", kUnknown, Code::kUnavailable},
      {"nvmlComputeInstanceGetInfo_v2", kUnknown, Code::kUnavailable},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.function);
    test::SimMachine sim(
        test::a100_machine(1, "    mig: {enabled: true, instances: [2g.10gb, 3g.20gb]}\n"));
    MigControl control(Connection::make(sim.options()));
    const gpu::GpuUuid gpu{sim.uuid(0)};
    sim.fail(row.function, row.error);
    const auto state = control.read(gpu);
    ASSERT_FALSE(state.has_value());
    EXPECT_EQ(state.error().code, row.code) << state.error().message();
    EXPECT_THAT(state.error().what, HasSubstr(row.function));
    EXPECT_THAT(state.error().what, HasSubstr("read the MIG instances on GPU-"));
    sim.heal();
    const auto again = control.read(gpu);
    ASSERT_TRUE(again.has_value());
    EXPECT_THAT(again->instances, SizeIs(2));
  }
}

TEST(NvmlMigControl, PlacesThatNoGpuHasAreNotBelieved) {
  test::SimMachine sim(test::a100_machine(1, "    mig: {enabled: true, instances: [2g.10gb]}\n"));
  MigControl control(Connection::make(sim.options()));
  const gpu::GpuUuid gpu{sim.uuid(0)};
  auto& state = sim.sim().state();
  auto& instance =
      state.gpus[0].instances[static_cast<std::size_t>(control.read(gpu).value().instances[0].id)];
  auto& size = state.models[0].profiles[instance.profile].size;
  const auto answer = [&](unsigned start, unsigned slices) {
    instance.start = start;
    size = slices;
    const auto read = control.read(gpu);
    return read ? "" : read.error().what;
  };
  EXPECT_EQ(answer(0, 2), "");
  EXPECT_THAT(answer(0, 0), HasSubstr("nvmlGpuInstanceGetInfo: 0 memory slices from 0"));
  EXPECT_THAT(answer(4'000'000'000, 2), HasSubstr("2 memory slices from 4000000000"));
}

TEST(NvmlMigControl, ChangesThatFailAreNamed) {
  test::SimMachine sim(test::a100_machine(1, "    mig: {enabled: true, instances: [2g.10gb]}\n"));
  MigControl control(Connection::make(sim.options()));
  const gpu::GpuUuid gpu{sim.uuid(0)};
  const auto before = control.read(gpu).value();
  const int instance = before.instances[0].id;
  struct Row {
    const char* function;
    std::function<Code()> change;
  };
  const Row rows[] = {
      {"nvmlDeviceCreateGpuInstanceWithPlacement",
       [&] { return control.create_gpu_instance(gpu, k1g, 0).error().code; }},
      {"nvmlGpuInstanceCreateComputeInstanceWithPlacement",
       [&] { return control.create_compute_instance(gpu, instance, 1, 0).error().code; }},
      {"nvmlComputeInstanceDestroy",
       [&] { return control.destroy_compute_instance(gpu, instance, 0).error().code; }},
      {"nvmlGpuInstanceDestroy",
       [&] { return control.destroy_gpu_instance(gpu, instance).error().code; }},
  };
  for (const Row& row : rows) {
    sim.fail(row.function, kNoPermission);
    EXPECT_EQ(row.change(), Code::kPermission) << row.function;
    sim.heal();
    EXPECT_EQ(control.read(gpu), before) << row.function;
  }
}

// A change of each kind, and the function of NVML that makes it.
struct Change {
  const char* function;
  std::function<Result<void>(MigControl&, const gpu::GpuUuid&, int instance)> make;
};

template <class Value>
Result<void> without_value(const Result<Value>& result) {
  if (!result) return std::unexpected(result.error());
  return {};
}

std::vector<Change> changes() {
  return {{"nvmlDeviceCreateGpuInstanceWithPlacement",
           [](auto& control, const auto& gpu, int) {
             return without_value(control.create_gpu_instance(gpu, k1g, 0));
           }},
          {"nvmlGpuInstanceCreateComputeInstanceWithPlacement",
           [](auto& control, const auto& gpu, int instance) {
             return without_value(control.create_compute_instance(gpu, instance, 1, 1));
           }},
          {"nvmlComputeInstanceDestroy",
           [](auto& control, const auto& gpu, int instance) {
             return control.destroy_compute_instance(gpu, instance, 0);
           }},
          {"nvmlGpuInstanceDestroy", [](auto& control, const auto& gpu, int) {
             std::ignore = control.destroy_compute_instance(gpu, 2, 0);
             return control.destroy_gpu_instance(gpu, 2);
           }}};
}

constexpr const char* kHalfUsed =
    "    mig: {enabled: true, instances: [{profile: 2g.10gb, compute: [1]}, "
    "{profile: 3g.20gb, start: 4}]}\n";

TEST(NvmlMigControl, AChangeMayBeDoneAndSayThatItFailed) {
  for (const Change& change : changes()) {
    SCOPED_TRACE(change.function);
    test::SimMachine sim(test::a100_machine(1, kHalfUsed));
    MigControl control(Connection::make(sim.options()));
    const gpu::GpuUuid gpu{sim.uuid(0)};
    const auto before = control.read(gpu).value();
    ASSERT_TRUE(sim::add_fault(sim.sim(), {.kind = sim::FaultKind::kFailDone,
                                           .function = change.function,
                                           .error = kUnknown,
                                           .strikes = 1}));
    const auto made = change.make(control, gpu, before.instances[0].id);
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().code, Code::kUnavailable);
    const auto again = change.make(control, gpu, before.instances[0].id);
    ASSERT_FALSE(again.has_value()) << "it was done";
    EXPECT_THAT(again.error().code, AnyOf(Code::kInvalidArgument, Code::kNotFound));
  }
}

TEST(NvmlMigControl, AChangeThatHangsIsNotKnown) {
  for (const Change& change : changes()) {
    SCOPED_TRACE(change.function);
    test::SimMachine sim(test::a100_machine(1, kHalfUsed));
    MigControl control(Connection::make(sim.options()), std::chrono::milliseconds(200));
    const gpu::GpuUuid gpu{sim.uuid(0)};
    const auto before = control.read(gpu).value();
    sim.hang(change.function);
    const auto made = change.make(control, gpu, before.instances[0].id);
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().code, Code::kTimeout);
    EXPECT_THAT(made.error().what, HasSubstr(change.function));
    sim.heal();
  }
}

TEST(NvmlMigControl, ADriverThatPlacesByItselfIsNotTrustedBlindly) {
  test::SimMachine sim(test::a100_machine(1, "    mig: {enabled: true}\n"));
  sim.fail("nvmlDeviceCreateGpuInstanceWithPlacement", kFunctionNotFound);
  sim.fail("nvmlGpuInstanceCreateComputeInstanceWithPlacement", kFunctionNotFound);
  MigControl control(Connection::make(sim.options()));
  const gpu::GpuUuid gpu{sim.uuid(0)};
  const auto elsewhere = control.create_gpu_instance(gpu, k3g, 0);
  ASSERT_FALSE(elsewhere.has_value());
  EXPECT_EQ(elsewhere.error().code, Code::kInvalidArgument);
  EXPECT_THAT(control.read(gpu)->instances, IsEmpty()) << "it is taken away again";
  const auto there = control.create_gpu_instance(gpu, k3g, 4);
  ASSERT_TRUE(there.has_value());
  EXPECT_EQ(control.create_compute_instance(gpu, *there, 1, 2).error().code,
            Code::kInvalidArgument);
  EXPECT_THAT(control.read(gpu)->instances[0].compute, IsEmpty());
  EXPECT_TRUE(control.create_compute_instance(gpu, *there, 1, 0).has_value());
}

TEST(NvmlMigControl, DoesNotWaitForACallThatHangs) {
  test::SimMachine sim(test::a100_machine(1));
  MigControl control(Connection::make(sim.options()), std::chrono::milliseconds(200));
  sim.hang("nvmlDeviceSetMigMode");
  const auto set = control.set_mode({sim.uuid(0)}, true);
  ASSERT_FALSE(set.has_value());
  EXPECT_EQ(set.error().code, Code::kTimeout);
  EXPECT_THAT(set.error().what, HasSubstr("nvmlDeviceSetMigMode has not returned"));
  sim.heal();
}

}  // namespace
}  // namespace tranche::nvml::nvml_mig_control_test
