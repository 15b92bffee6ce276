// Layouts and version words of nvml.h on 64-bit Linux (12.9 and 13.5 agree).

#include "nvml/abi.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace tranche::nvml::abi_test {
namespace {

static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, bus_id) == 36);
static_assert(sizeof(Memory) == 24);
static_assert(sizeof(MemoryV2) == 40 && offsetof(MemoryV2, total) == 8);
static_assert(sizeof(AddressingMode) == 8 && offsetof(AddressingMode, value) == 4);
static_assert(sizeof(SetMemoryLimits) == 24 && offsetof(SetMemoryLimits, hard_limit) == 16);
static_assert(sizeof(GetMemoryLimits) == 32 && offsetof(GetMemoryLimits, current_used) == 24);
static_assert(sizeof(DeviceAttributes) == 40 && offsetof(DeviceAttributes, memory_mib) == 32);
static_assert(sizeof(GpuInstanceInfo) == 24 && offsetof(GpuInstanceInfo, placement) == 16);
static_assert(sizeof(GpuInstanceProfileInfo) == 48 &&
              offsetof(GpuInstanceProfileInfo, memory_mib) == 40);
static_assert(sizeof(GpuInstanceProfileInfoV2) == 152 &&
              offsetof(GpuInstanceProfileInfoV2, name) == 56);
static_assert(sizeof(GpuInstanceProfileInfoV3) == 152 &&
              offsetof(GpuInstanceProfileInfoV3, memory_mib) == 40 &&
              offsetof(GpuInstanceProfileInfoV3, capabilities) == 144);
static_assert(sizeof(Placement) == 8);
static_assert(sizeof(ComputeInstanceProfileInfo) == 36 &&
              offsetof(ComputeInstanceProfileInfo, ofa_engines) == 32);
static_assert(sizeof(ComputeInstanceInfo) == 32 && offsetof(ComputeInstanceInfo, id) == 16 &&
              offsetof(ComputeInstanceInfo, placement) == 24);
static_assert(sizeof(FabricInfo) == 28 && offsetof(FabricInfo, state) == 24);
static_assert(sizeof(FabricInfoV2) == 36 && offsetof(FabricInfoV2, state) == 28);
static_assert(sizeof(ProcessInfo) == 24 && offsetof(ProcessInfo, used_memory) == 8);
static_assert(sizeof(ProcessUtilizationSample) == 32 &&
              offsetof(ProcessUtilizationSample, sm_util) == 16);
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, value) == 32);
static_assert(sizeof(Utilization) == 8 && offsetof(Utilization, memory) == 4);
static_assert(sizeof(ViolationTime) == 16 && offsetof(ViolationTime, violation_ns) == 8);
static_assert(sizeof(GpmSupport) == 8);
static_assert(sizeof(GpmMetric) == 40 && offsetof(GpmMetric, value) == 8 &&
              offsetof(GpmMetric, unit) == 32);
static_assert(offsetof(GpmMetricsGet, first) == 8 && offsetof(GpmMetricsGet, metrics) == 24 &&
              sizeof(GpmMetricsGet) == 24 + kGpmMetrics * sizeof(GpmMetric));
static_assert(sizeof(EventData) == 32 && offsetof(EventData, gpu_instance_id) == 24);

TEST(Abi, VersionWordsHoldSizeAndVersion) {
  EXPECT_EQ(version_word<MemoryV2>(2), 0x02000028U);
  EXPECT_EQ(version_word<GpuInstanceProfileInfoV2>(2), 0x02000098U);
  EXPECT_EQ(version_word<GpuInstanceProfileInfoV3>(3), 0x03000098U);
  EXPECT_EQ(version_word<FabricInfoV2>(2), 0x02000024U);
  EXPECT_EQ(version_word<AddressingMode>(1), 0x01000008U);
}

}  // namespace
}  // namespace tranche::nvml::abi_test
