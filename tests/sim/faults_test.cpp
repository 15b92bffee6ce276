// Faults and events, injected into a running machine.

#include "sim/state/faults.h"

#include <gmock/gmock.h>

#include <future>

#include "support.h"

namespace tranche::sim::test::faults_test {
namespace {

using namespace abi;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

class EventSet {
 public:
  explicit EventSet(const Nvml& nvml, unsigned int gpus = 1) : nvml_(nvml) {
    EXPECT_EQ(nvml("nvmlEventSetCreate", &set_), NVML_SUCCESS);
    for (unsigned int i = 0; i < gpus; ++i) {
      EXPECT_EQ(nvml("nvmlDeviceRegisterEvents", nvml.gpu(i),
                     static_cast<unsigned long long>(nvmlEventTypeXidCriticalError), set_),
                NVML_SUCCESS);
    }
  }
  ~EventSet() { nvml_("nvmlEventSetFree", set_); }
  nvmlReturn_t wait(nvmlEventData_t& data, unsigned int timeout_ms) const {
    return nvml_("nvmlEventSetWait_v2", set_, &data, timeout_ms);
  }

 private:
  const Nvml& nvml_;
  nvmlEventSet_t set_ = nullptr;
};

EventSpec xid(std::uint64_t number, std::uint32_t gpu) {
  return {.type = nvmlEventTypeXidCriticalError, .data = number, .gpu = gpu};
}

TEST(Events, AnXidReachesTheSet) {
  const World world("a100-80gb-x8");
  const Nvml nvml;
  const auto sim = world.open();
  post_event(*sim, xid(31, 0));  // before registration: not seen
  const EventSet set(nvml, 8);
  post_event(*sim, xid(79, 5));
  nvmlEventData_t data = {};
  ASSERT_EQ(set.wait(data, 0), NVML_SUCCESS);
  EXPECT_EQ(data.device, nvml.gpu(5));
  EXPECT_EQ(data.eventData, 79U);
  EXPECT_EQ(data.gpuInstanceId, 0xFFFFFFFFU);
  EXPECT_EQ(set.wait(data, 0), NVML_ERROR_TIMEOUT);
}

TEST(Events, CarryInstanceIds) {
  const World world("a100-40gb-mig");
  const Nvml nvml;
  const EventSet set(nvml);
  auto event = xid(43, 0);
  event.gpu_instance = 7;
  event.compute_instance = 0;
  post_event(*world.open(), event);
  nvmlEventData_t data = {};
  ASSERT_EQ(set.wait(data, 0), NVML_SUCCESS);
  EXPECT_EQ(data.gpuInstanceId, 7U);
  EXPECT_EQ(data.computeInstanceId, 0U);
}

TEST(Events, WakeAWaiterInAnotherProcess) {
  const World world("l20");
  world.open();
  const Signal waiting;
  const pid_t child = in_child([&] {
    const Nvml nvml;
    const EventSet set(nvml);
    waiting.give();
    nvmlEventData_t data = {};
    return set.wait(data, 20000) == NVML_SUCCESS ? static_cast<int>(data.eventData) : 1;
  });
  waiting.await();
  post_event(*world.open(), xid(48, 0));
  EXPECT_EQ(wait_for(child), 48);
}

TEST(Events, OthersAreNotDelivered) {
  const World world("a100-80gb-x8");
  const Nvml nvml;
  const EventSet set(nvml, 1);
  const auto sim = world.open();
  post_event(*sim, xid(79, 1));
  post_event(*sim, {.type = nvmlEventMigConfigChange, .gpu = 0});
  nvmlEventData_t data = {};
  EXPECT_EQ(set.wait(data, 1), NVML_ERROR_TIMEOUT);
}

TEST(Events, ASetThatFallsBehindKeepsTheNewest) {
  const World world("l20");
  const Nvml nvml;
  const EventSet set(nvml);
  const auto sim = world.open();
  for (std::uint64_t i = 1; i <= kMaxEvents + 10; ++i) post_event(*sim, xid(i, 0));
  nvmlEventData_t data = {};
  ASSERT_EQ(set.wait(data, 0), NVML_SUCCESS);
  EXPECT_EQ(data.eventData, 11U);
}

TEST(Events, TypesThatTheGpuHasNotAreRefused) {
  const World world("t4-vgpu");
  const Nvml nvml;
  nvmlEventSet_t set = nullptr;
  ASSERT_EQ(nvml("nvmlEventSetCreate", &set), NVML_SUCCESS);
  EXPECT_EQ(nvml("nvmlDeviceRegisterEvents", nvml.gpu(),
                 static_cast<unsigned long long>(nvmlEventTypeDoubleBitEccError), set),
            NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml("nvmlEventSetFree", set), NVML_SUCCESS);
  EXPECT_EQ(nvml("nvmlEventSetFree", set), NVML_ERROR_INVALID_ARGUMENT);
}

TEST(Faults, ALostGpuIsCountedButNotReached) {
  const World world("a100-80gb-x8");
  const Nvml nvml;
  const auto sim = world.open();
  const nvmlDevice_t before = nvml.gpu(2);
  set_presence(*sim, 2, Presence::kLost);
  nvmlDevice_t device = nullptr;
  char name[64] = {};
  EXPECT_EQ(nvml.count(), 8U);
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByIndex_v2", 2U, &device), NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(nvml("nvmlDeviceGetName", before, &name[0], 64U), NVML_ERROR_GPU_IS_LOST);
  nvml.gpu(3);
  set_presence(*sim, 2, Presence::kPresent);
  EXPECT_EQ(nvml("nvmlDeviceGetName", before, &name[0], 64U), NVML_SUCCESS);
}

TEST(Faults, AGoneGpuIsNotCounted) {
  const World world("a100-80gb-x8");
  const Nvml nvml;
  const std::string third = nvml.text("nvmlDeviceGetUUID", nvml.gpu(3));
  set_presence(*world.open(), 2, Presence::kGone);
  EXPECT_EQ(nvml.count(), 7U);
  EXPECT_EQ(nvml.text("nvmlDeviceGetUUID", nvml.gpu(2)), third);
}

TEST(Faults, FailingCallsFailWhereTheyShould) {
  const World world("a100-80gb-x8");
  const Nvml nvml;
  const auto sim = world.open();
  ASSERT_TRUE(add_fault(
      *sim, {.function = "nvmlDeviceGetMemoryInfo", .gpu = 1, .error = NVML_ERROR_UNKNOWN}));
  nvmlMemory_t memory = {};
  EXPECT_EQ(nvml("nvmlDeviceGetMemoryInfo", nvml.gpu(0), &memory), NVML_SUCCESS);
  EXPECT_EQ(nvml("nvmlDeviceGetMemoryInfo", nvml.gpu(1), &memory), NVML_ERROR_UNKNOWN);
  nvml.text("nvmlDeviceGetName", nvml.gpu(1));
  clear_faults(*sim);
  EXPECT_EQ(nvml("nvmlDeviceGetMemoryInfo", nvml.gpu(1), &memory), NVML_SUCCESS);
}

TEST(Faults, AHandleLookupCanFail) {
  const World world("a100-80gb-x8");
  const Nvml nvml;
  ASSERT_TRUE(add_fault(
      *world.open(),
      {.function = "nvmlDeviceGetHandleByIndex_v2", .gpu = 4, .error = NVML_ERROR_UNKNOWN}));
  nvmlDevice_t device = nullptr;
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByIndex_v2", 4U, &device), NVML_ERROR_UNKNOWN);
  nvml.gpu(5);
}

TEST(Faults, SlowCallsAreSlow) {
  const World world("l20");
  const Nvml nvml;
  const nvmlDevice_t gpu = nvml.gpu();
  ASSERT_TRUE(
      add_fault(*world.open(),
                {.kind = FaultKind::kDelay, .function = "nvmlDeviceGetName", .delay_us = 30'000}));
  const auto start = steady_clock::now();
  nvml.text("nvmlDeviceGetName", gpu);
  EXPECT_GE(steady_clock::now() - start, milliseconds(29));
}

TEST(Faults, HangingCallsReturnWhenCleared) {
  const World world("l20");
  const Nvml nvml;
  const auto sim = world.open();
  const nvmlDevice_t gpu = nvml.gpu();
  ASSERT_TRUE(add_fault(*sim, {.kind = FaultKind::kHang, .function = "nvmlDeviceGetName"}));
  auto call = std::async(std::launch::async, [&] { return nvml.text("nvmlDeviceGetName", gpu); });
  EXPECT_EQ(call.wait_for(milliseconds(50)), std::future_status::timeout);
  clear_faults(*sim);
  EXPECT_EQ(call.get(), "NVIDIA L20");
}

TEST(Faults, AHangingProcessCanBeKilled) {
  const World world("l20");
  const auto sim = world.open();
  ASSERT_TRUE(add_fault(*sim, {.kind = FaultKind::kHang}));
  const Signal started;
  const pid_t child = in_child([&] {
    started.give();
    const Nvml nvml;
    return 0;
  });
  started.await();
  ::kill(child, SIGKILL);
  EXPECT_EQ(wait_for(child), 128 + SIGKILL);
  clear_faults(*sim);
  const Nvml nvml;
  EXPECT_EQ(nvml.count(), 1U);
}

TEST(Faults, TheDriverGoesAndComesBack) {
  const World world("l20");
  const auto sim = world.open();
  const Nvml nvml;
  sim->state().init_error.store(NVML_ERROR_DRIVER_NOT_LOADED);
  unsigned int count = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetCount_v2", &count), NVML_ERROR_DRIVER_NOT_LOADED);
  sim->state().init_error.store(0);
  EXPECT_EQ(nvml.count(), 1U);
}

TEST(Faults, TooManyAreRefused) {
  const World world("l20");
  const auto sim = world.open();
  for (unsigned i = 0; i < kMaxFaults; ++i) ASSERT_TRUE(add_fault(*sim, {.error = 1}));
  EXPECT_FALSE(add_fault(*sim, {.error = 1}));
  EXPECT_FALSE(add_fault(*sim, {.function = std::string(200, 'x')}));
}

TEST(Recovery, IsReadAsAField) {
  const World world("l20");
  const Nvml nvml;
  world.open()->state().gpus[0].recovery_action.store(2);
  nvmlFieldValue_t values[2] = {};
  values[0].fieldId = NVML_FI_DEV_GET_GPU_RECOVERY_ACTION;
  values[1].fieldId = 9999;
  EXPECT_EQ(nvml("nvmlDeviceGetFieldValues", nvml.gpu(), 2, &values[0]), NVML_SUCCESS);
  EXPECT_EQ(values[0].nvmlReturn, NVML_SUCCESS);
  EXPECT_EQ(values[0].value.uiVal, 2U);
  EXPECT_EQ(values[1].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace tranche::sim::test::faults_test
