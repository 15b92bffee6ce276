// Settings of the hardware, changed over the simulated machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contract/sim_machine.h"
#include "nvml/control.h"

namespace tranche::nvml::nvml_control_test {
namespace {

using gpu::ComputeMode;
using ::testing::HasSubstr;

unsigned mode_of(test::SimMachine& sim, unsigned gpu) {
  return sim.sim().state().gpus[gpu].compute_mode.load();
}

TEST(NvmlControl, SetsTheComputeModeOfOneGpu) {
  test::SimMachine sim(test::a100_machine(2));
  Control control(Connection::make(sim.options()));
  ASSERT_TRUE(control.set_compute_mode(sim.uuid(1), ComputeMode::kExclusiveProcess));
  EXPECT_EQ(mode_of(sim, 0), 0U);
  EXPECT_EQ(mode_of(sim, 1), 3U);
  ASSERT_TRUE(control.set_compute_mode(sim.uuid(1), ComputeMode::kDefault));
  EXPECT_EQ(mode_of(sim, 1), 0U);
}

TEST(NvmlControl, TellsWhyNot) {
  struct Row {
    const char* name;
    int error;
    Code code;
    const char* words;
  };
  constexpr const char* kFunction = "nvmlDeviceSetComputeMode";
  const Row rows[] = {
      {"no root", kNoPermission, Code::kPermission, "set the compute mode of GPU-"},
      {"a vGPU", kNotSupported, Code::kUnsupported, "nvmlDeviceSetComputeMode: 3"},
      {"lost", kGpuIsLost, Code::kUnavailable, "nvmlDeviceSetComputeMode: 15"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    test::SimMachine sim(test::a100_machine(1));
    sim.fail(kFunction, row.error);
    Control control(Connection::make(sim.options()));
    const auto set = control.set_compute_mode(sim.uuid(0), ComputeMode::kExclusiveProcess);
    ASSERT_FALSE(set.has_value());
    EXPECT_EQ(set.error().code, row.code);
    EXPECT_THAT(set.error().what, HasSubstr(row.words));
    EXPECT_EQ(mode_of(sim, 0), 0U);
    sim.heal();
    EXPECT_TRUE(control.set_compute_mode(sim.uuid(0), ComputeMode::kExclusiveProcess));
  }
}

TEST(NvmlControl, KnowsNoOtherGpu) {
  test::SimMachine sim(test::a100_machine(1));
  Control control(Connection::make(sim.options()));
  const auto set = control.set_compute_mode("GPU-of-another", ComputeMode::kDefault);
  ASSERT_FALSE(set.has_value());
  EXPECT_EQ(set.error().code, Code::kNotFound);
}

TEST(NvmlControl, DoesNotWaitForACallThatHangs) {
  test::SimMachine sim(test::a100_machine(1));
  Control control(Connection::make(sim.options(std::chrono::milliseconds(200))));
  sim.hang("nvmlDeviceSetComputeMode");
  const auto set = control.set_compute_mode(sim.uuid(0), ComputeMode::kDefault);
  ASSERT_FALSE(set.has_value());
  EXPECT_EQ(set.error().code, Code::kTimeout);
  EXPECT_THAT(set.error().what, HasSubstr("nvmlDeviceSetComputeMode has not returned"));
  sim.heal();
}

}  // namespace
}  // namespace tranche::nvml::nvml_control_test
