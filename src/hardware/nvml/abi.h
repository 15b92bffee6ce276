#pragma once
// Our own declarations of the part of NVML's ABI that we use, so that building needs no NVIDIA
// header. Names keep NVML's spelling. Layouts and version words are those of nvml.h 12.9 and 13.5,
// which agree (but for kGpmMetrics); abi_test.cpp and a comparison with the simulated library check
// them. Source: NVML API reference, https://docs.nvidia.com/deploy/nvml-api/.

#include <cstdint>

namespace tranche::nvml {

// nvmlReturn_t
using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kUninitialized = 1;
inline constexpr Return kInvalidArgument = 2;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kTimeout = 10;
inline constexpr Return kIrqIssue = 11;
inline constexpr Return kLibraryNotFound = 12;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;
inline constexpr Return kOperatingSystem = 17;
inline constexpr Return kLibRmVersionMismatch = 18;
inline constexpr Return kInUse = 19;
inline constexpr Return kInsufficientResources = 23;
inline constexpr Return kArgumentVersionMismatch = 25;
inline constexpr Return kGpuNotFound = 28;
inline constexpr Return kUnknown = 999;

// Opaque handles. They are valid until nvmlShutdown.
using Device = struct DeviceHandle*;
using GpuInstance = struct GpuInstanceHandle*;
using ComputeInstance = struct ComputeInstanceHandle*;
using EventSet = struct EventSetHandle*;
using GpmSample = struct GpmSampleHandle*;

inline constexpr unsigned kStringSize = 96;  // the largest of NVML's name and UUID buffers

// The first word of a versioned struct: the struct's size, with the version in the top byte.
template <class Struct>
constexpr std::uint32_t version_word(std::uint32_t version) {
  return static_cast<std::uint32_t>(sizeof(Struct)) | (version << 24U);
}

struct PciInfo {
  char bus_id_legacy[16];
  std::uint32_t domain;
  std::uint32_t bus;
  std::uint32_t device;
  std::uint32_t pci_device_id;
  std::uint32_t pci_subsystem_id;
  char bus_id[32];
};

struct Memory {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};

struct MemoryV2 {
  std::uint32_t version;
  std::uint64_t total;
  std::uint64_t reserved;
  std::uint64_t free;
  std::uint64_t used;
};

// nvmlDeviceAddressingMode_v1_t (575 and later).
struct AddressingMode {
  std::uint32_t version;
  std::uint32_t value;
};

// nvmlSetMemoryLimits_v1_t and nvmlGetMemoryLimits_v1_t (13.4 and later): bytes.
struct SetMemoryLimits {
  const char* name_space;  // path of a control group
  unsigned long long soft_limit;
  unsigned long long hard_limit;
};

struct GetMemoryLimits {
  const char* name_space;
  unsigned long long soft_limit;
  unsigned long long hard_limit;
  unsigned long long current_used;
};

inline constexpr unsigned long long kMemoryLimitMax = ~0ULL;  // no limit

struct DeviceAttributes {
  std::uint32_t multiprocessors;
  std::uint32_t copy_engines;
  std::uint32_t decoders;
  std::uint32_t encoders;
  std::uint32_t jpeg_engines;
  std::uint32_t ofa_engines;
  std::uint32_t gpu_instance_slices;
  std::uint32_t compute_instance_slices;
  std::uint64_t memory_mib;
};

// nvmlGpuInstancePlacement_t, and nvmlComputeInstancePlacement_t.
struct Placement {
  std::uint32_t start;
  std::uint32_t size;
};

struct GpuInstanceInfo {
  Device device;
  std::uint32_t id;
  std::uint32_t profile_id;
  Placement placement;
};

struct GpuInstanceProfileInfo {
  std::uint32_t id;
  std::uint32_t p2p;
  std::uint32_t slices;
  std::uint32_t instances;
  std::uint32_t multiprocessors;
  std::uint32_t copy_engines;
  std::uint32_t decoders;
  std::uint32_t encoders;
  std::uint32_t jpeg_engines;
  std::uint32_t ofa_engines;
  std::uint64_t memory_mib;
};

struct GpuInstanceProfileInfoV2 {
  std::uint32_t version;
  std::uint32_t id;
  std::uint32_t p2p;
  std::uint32_t slices;
  std::uint32_t instances;
  std::uint32_t multiprocessors;
  std::uint32_t copy_engines;
  std::uint32_t decoders;
  std::uint32_t encoders;
  std::uint32_t jpeg_engines;
  std::uint32_t ofa_engines;
  std::uint64_t memory_mib;
  char name[kStringSize];
};

struct GpuInstanceProfileInfoV3 {
  std::uint32_t version;
  std::uint32_t id;
  std::uint32_t slices;
  std::uint32_t instances;
  std::uint32_t multiprocessors;
  std::uint32_t copy_engines;
  std::uint32_t decoders;
  std::uint32_t encoders;
  std::uint32_t jpeg_engines;
  std::uint32_t ofa_engines;
  std::uint64_t memory_mib;
  char name[kStringSize];
  std::uint32_t capabilities;
};

inline constexpr unsigned kGpuInstanceProfiles = 18;

// nvmlComputeInstanceProfileInfo_t
struct ComputeInstanceProfileInfo {
  std::uint32_t id;
  std::uint32_t slices;
  std::uint32_t instances;
  std::uint32_t multiprocessors;
  std::uint32_t copy_engines;
  std::uint32_t decoders;
  std::uint32_t encoders;
  std::uint32_t jpeg_engines;
  std::uint32_t ofa_engines;
};

struct ComputeInstanceInfo {
  Device device;
  GpuInstance gpu_instance;
  std::uint32_t id;
  std::uint32_t profile_id;
  Placement placement;
};

// NVML_COMPUTE_INSTANCE_PROFILE_*: 1, 2, 3, 4, 7, 8, 6 slices, 1_SLICE_REV1, and what follows.
inline constexpr unsigned kComputeInstanceProfiles = 9;
// NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED
inline constexpr unsigned kSharedEngines = 0;

struct FabricInfo {
  unsigned char cluster_uuid[16];
  Return status;
  std::uint32_t clique_id;
  unsigned char state;
};

struct FabricInfoV2 {
  std::uint32_t version;
  unsigned char cluster_uuid[16];
  Return status;
  std::uint32_t clique_id;
  unsigned char state;
  std::uint32_t health_mask;
};

inline constexpr unsigned char kFabricStateCompleted = 3;

// nvmlProcessInfo_v2_t, of the _v2 and _v3 functions.
struct ProcessInfo {
  std::uint32_t pid;
  std::uint64_t used_memory;          // kNotAvailable: not reported
  std::uint32_t gpu_instance_id;      // kNoInstance: none
  std::uint32_t compute_instance_id;  // kNoInstance: none
};

// nvmlProcessUtilizationSample_t: how busy a process was in the period that ended at time_stamp.
struct ProcessUtilizationSample {
  std::uint32_t pid;
  std::uint64_t time_stamp;  // us since 1970
  std::uint32_t sm_util;     // percent of the period; more than 100: not reported
  std::uint32_t mem_util;
  std::uint32_t enc_util;
  std::uint32_t dec_util;
};

inline constexpr std::uint64_t kNotAvailable = ~std::uint64_t{0};

union FieldContent {
  double as_double;
  std::uint32_t as_uint;
  std::uint64_t as_ulong;
};

struct FieldValue {
  std::uint32_t field_id;
  std::uint32_t scope_id;
  std::int64_t timestamp_us;
  std::int64_t latency_us;
  std::int32_t value_type;
  Return result;
  FieldContent value;
};

// nvmlValueType_t
inline constexpr std::int32_t kValueUnsignedInt = 1;
inline constexpr std::int32_t kValueUnsignedLong = 2;
inline constexpr std::int32_t kValueUnsignedLongLong = 3;

inline constexpr std::uint32_t kFieldPowerThrottled = 74;  // ns
inline constexpr std::uint32_t kFieldMemoryTemperature = 82;
inline constexpr std::uint32_t kFieldRecoveryAction = 230;
inline constexpr std::uint32_t kFieldHeatThrottled = 269;  // ns; 580 and later

// nvmlUtilization_t: percent of the sample period.
struct Utilization {
  std::uint32_t gpu;
  std::uint32_t memory;
};

// nvmlViolationTime_t
struct ViolationTime {
  std::uint64_t reference_us;
  std::uint64_t violation_ns;
};

// nvmlPerfPolicyType_t
inline constexpr int kPolicyPower = 0;
inline constexpr int kPolicyThermal = 1;
// nvmlClockType_t
inline constexpr unsigned kClockSm = 1;
inline constexpr unsigned kClockMemory = 2;
// nvmlTemperatureSensors_t
inline constexpr unsigned kSensorGpu = 0;

// nvmlGpmSupport_t. The versions of GPM's structs are plain numbers.
struct GpmSupport {
  std::uint32_t version;
  std::uint32_t is_supported;
};

// nvmlGpmMetric_t: the unit of `value` depends on the metric.
struct GpmMetric {
  std::uint32_t metric_id;
  Return result;
  double value;
  const char* short_name;
  const char* long_name;
  const char* unit;
};

// nvmlGpmMetricsGet_t. NVML touches the first `count` metrics; how many its own array has grows
// with each release (98 in 12.0, 477 in 13.3).
inline constexpr unsigned kGpmMetrics = 512;
struct GpmMetricsGet {
  std::uint32_t version;
  std::uint32_t count;
  GpmSample first;
  GpmSample second;
  GpmMetric metrics[kGpmMetrics];
};

inline constexpr std::uint32_t kGpmVersion = 1;
// NVML_GPM_METRIC_*: percent, and MiB per second.
inline constexpr std::uint32_t kGpmGraphics = 1;
inline constexpr std::uint32_t kGpmSm = 2;
inline constexpr std::uint32_t kGpmSmOccupancy = 3;
inline constexpr std::uint32_t kGpmAnyTensor = 5;
inline constexpr std::uint32_t kGpmDram = 10;
inline constexpr std::uint32_t kGpmFp64 = 11;
inline constexpr std::uint32_t kGpmFp32 = 12;
inline constexpr std::uint32_t kGpmFp16 = 13;
inline constexpr std::uint32_t kGpmPcieSent = 20;
inline constexpr std::uint32_t kGpmPcieReceived = 21;
inline constexpr std::uint32_t kGpmNvlinkReceived = 60;
inline constexpr std::uint32_t kGpmNvlinkSent = 61;

struct EventData {
  Device device;
  std::uint64_t type;
  std::uint64_t data;
  std::uint32_t gpu_instance_id;      // kNoInstance: none
  std::uint32_t compute_instance_id;  // kNoInstance: none
};

inline constexpr std::uint32_t kNoInstance = 0xFFFFFFFFU;
inline constexpr std::uint64_t kEventSingleBitEcc = 0x1;
inline constexpr std::uint64_t kEventDoubleBitEcc = 0x2;
inline constexpr std::uint64_t kEventXid = 0x8;
inline constexpr std::uint64_t kEventMigConfigChange = 0x100;

inline constexpr unsigned kMaxNvLinks = 36;
inline constexpr int kNvLinkToSwitch = 2;  // NVML_NVLINK_DEVICE_TYPE_SWITCH
inline constexpr std::uint32_t kMigEnabled = 1;
// nvmlGpuVirtualizationMode_t
inline constexpr unsigned kNotVirtualized = 0;
inline constexpr unsigned kPassedThrough = 1;

}  // namespace tranche::nvml
