#pragma once
// The part of NVML's binary interface that the simulated library serves: our own declarations,
// names and layouts as the public interface has them. tests/sim/test_abi.py compares every
// structure, version word and exported symbol with NVIDIA's nvml.h. This header has no behaviour.

#include <cstddef>

// NOLINTBEGIN(readability-identifier-naming): the names are NVML's
namespace tranche::sim::abi {

struct nvmlDevice_st;
struct nvmlGpuInstance_st;
struct nvmlComputeInstance_st;
struct nvmlEventSet_st;
struct nvmlGpmSample_st;
using nvmlDevice_t = nvmlDevice_st*;
using nvmlGpuInstance_t = nvmlGpuInstance_st*;
using nvmlComputeInstance_t = nvmlComputeInstance_st*;
using nvmlEventSet_t = nvmlEventSet_st*;
using nvmlGpmSample_t = nvmlGpmSample_st*;

enum nvmlReturn_t : int {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NO_PERMISSION = 4,
  NVML_ERROR_ALREADY_INITIALIZED = 5,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_INSUFFICIENT_POWER = 8,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
  NVML_ERROR_TIMEOUT = 10,
  NVML_ERROR_IRQ_ISSUE = 11,
  NVML_ERROR_LIBRARY_NOT_FOUND = 12,
  NVML_ERROR_FUNCTION_NOT_FOUND = 13,
  NVML_ERROR_CORRUPTED_INFOROM = 14,
  NVML_ERROR_GPU_IS_LOST = 15,
  NVML_ERROR_RESET_REQUIRED = 16,
  NVML_ERROR_OPERATING_SYSTEM = 17,
  NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
  NVML_ERROR_IN_USE = 19,
  NVML_ERROR_MEMORY = 20,
  NVML_ERROR_NO_DATA = 21,
  NVML_ERROR_VGPU_ECC_NOT_SUPPORTED = 22,
  NVML_ERROR_INSUFFICIENT_RESOURCES = 23,
  NVML_ERROR_FREQ_NOT_SUPPORTED = 24,
  NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
  NVML_ERROR_DEPRECATED = 26,
  NVML_ERROR_NOT_READY = 27,
  NVML_ERROR_GPU_NOT_FOUND = 28,
  NVML_ERROR_INVALID_STATE = 29,
  NVML_ERROR_RESET_TYPE_NOT_SUPPORTED = 30,
  NVML_ERROR_UNKNOWN = 999,
};

// A versioned structure begins with its size and, in the top byte, its version.
template <class T>
constexpr unsigned int struct_version(unsigned int version) {
  return static_cast<unsigned int>(sizeof(T)) | version << 24U;
}

inline constexpr unsigned int kNvLinkMaxLinks = 18;
inline constexpr unsigned int kNameBufferSize = 96;

struct nvmlPciInfo_t {
  char busIdLegacy[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pciDeviceId;
  unsigned int pciSubSystemId;
  char busId[32];
};

struct nvmlUtilization_t {
  unsigned int gpu;
  unsigned int memory;
};

struct nvmlViolationTime_t {
  unsigned long long referenceTime;
  unsigned long long violationTime;
};

struct nvmlMemory_t {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct nvmlMemory_v2_t {
  unsigned int version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};

struct nvmlBAR1Memory_t {
  unsigned long long bar1Total;
  unsigned long long bar1Free;
  unsigned long long bar1Used;
};

struct nvmlProcessInfo_v1_t {
  unsigned int pid;
  unsigned long long usedGpuMemory;
};

struct nvmlProcessInfo_v2_t {
  unsigned int pid;
  unsigned long long usedGpuMemory;
  unsigned int gpuInstanceId;
  unsigned int computeInstanceId;
};

struct nvmlProcessDetail_v1_t {
  unsigned int pid;
  unsigned long long usedGpuMemory;
  unsigned int gpuInstanceId;
  unsigned int computeInstanceId;
  unsigned long long usedGpuCcProtectedMemory;
};

struct nvmlProcessDetailList_v1_t {
  unsigned int version;
  unsigned int mode;
  unsigned int numProcArrayEntries;
  nvmlProcessDetail_v1_t* procArray;
};

struct nvmlAccountingStats_t {
  unsigned int gpuUtilization;
  unsigned int memoryUtilization;
  unsigned long long maxMemoryUsage;
  unsigned long long time;
  unsigned long long startTime;
  unsigned int isRunning;
  unsigned int reserved[5];
};

struct nvmlAccountingStats_v2_t {
  unsigned int pid;
  unsigned int isRunning;
  unsigned int gpuUtilization;
  unsigned int memoryUtilization;
  unsigned long long maxMemoryUsage;
  unsigned int sampleCount;
  unsigned long long sumGpuUtil;
  unsigned long long sumFbUtil;
  unsigned long long time;
  unsigned long long startTime;
};

struct nvmlProcessUtilizationSample_t {
  unsigned int pid;
  unsigned long long timeStamp;
  unsigned int smUtil;
  unsigned int memUtil;
  unsigned int encUtil;
  unsigned int decUtil;
};

struct nvmlProcessUtilizationInfo_v1_t {
  unsigned long long timeStamp;
  unsigned int pid;
  unsigned int smUtil;
  unsigned int memUtil;
  unsigned int encUtil;
  unsigned int decUtil;
  unsigned int jpgUtil;
  unsigned int ofaUtil;
};

struct nvmlProcessesUtilizationInfo_v1_t {
  unsigned int version;
  unsigned int processSamplesCount;
  unsigned long long lastSeenTimeStamp;
  nvmlProcessUtilizationInfo_v1_t* procUtilArray;
};

struct nvmlDeviceAttributes_t {
  unsigned int multiprocessorCount;
  unsigned int sharedCopyEngineCount;
  unsigned int sharedDecoderCount;
  unsigned int sharedEncoderCount;
  unsigned int sharedJpegCount;
  unsigned int sharedOfaCount;
  unsigned int gpuInstanceSliceCount;
  unsigned int computeInstanceSliceCount;
  unsigned long long memorySizeMB;
};

struct nvmlGpuInstancePlacement_t {
  unsigned int start;
  unsigned int size;
};

struct nvmlGpuInstanceProfileInfo_t {
  unsigned int id;
  unsigned int isP2pSupported;
  unsigned int sliceCount;
  unsigned int instanceCount;
  unsigned int multiprocessorCount;
  unsigned int copyEngineCount;
  unsigned int decoderCount;
  unsigned int encoderCount;
  unsigned int jpegCount;
  unsigned int ofaCount;
  unsigned long long memorySizeMB;
};

struct nvmlGpuInstanceProfileInfo_v2_t {
  unsigned int version;
  unsigned int id;
  unsigned int isP2pSupported;
  unsigned int sliceCount;
  unsigned int instanceCount;
  unsigned int multiprocessorCount;
  unsigned int copyEngineCount;
  unsigned int decoderCount;
  unsigned int encoderCount;
  unsigned int jpegCount;
  unsigned int ofaCount;
  unsigned long long memorySizeMB;
  char name[kNameBufferSize];
};

struct nvmlGpuInstanceProfileInfo_v3_t {
  unsigned int version;
  unsigned int id;
  unsigned int sliceCount;
  unsigned int instanceCount;
  unsigned int multiprocessorCount;
  unsigned int copyEngineCount;
  unsigned int decoderCount;
  unsigned int encoderCount;
  unsigned int jpegCount;
  unsigned int ofaCount;
  unsigned long long memorySizeMB;
  char name[kNameBufferSize];
  unsigned int capabilities;
};

struct nvmlGpuInstanceInfo_t {
  nvmlDevice_t device;
  unsigned int id;
  unsigned int profileId;
  nvmlGpuInstancePlacement_t placement;
};

struct nvmlComputeInstancePlacement_t {
  unsigned int start;
  unsigned int size;
};

struct nvmlComputeInstanceProfileInfo_t {
  unsigned int id;
  unsigned int sliceCount;
  unsigned int instanceCount;
  unsigned int multiprocessorCount;
  unsigned int sharedCopyEngineCount;
  unsigned int sharedDecoderCount;
  unsigned int sharedEncoderCount;
  unsigned int sharedJpegCount;
  unsigned int sharedOfaCount;
};

struct nvmlComputeInstanceProfileInfo_v2_t {
  unsigned int version;
  unsigned int id;
  unsigned int sliceCount;
  unsigned int instanceCount;
  unsigned int multiprocessorCount;
  unsigned int sharedCopyEngineCount;
  unsigned int sharedDecoderCount;
  unsigned int sharedEncoderCount;
  unsigned int sharedJpegCount;
  unsigned int sharedOfaCount;
  char name[kNameBufferSize];
};

struct nvmlComputeInstanceProfileInfo_v3_t {
  unsigned int version;
  unsigned int id;
  unsigned int sliceCount;
  unsigned int instanceCount;
  unsigned int multiprocessorCount;
  unsigned int sharedCopyEngineCount;
  unsigned int sharedDecoderCount;
  unsigned int sharedEncoderCount;
  unsigned int sharedJpegCount;
  unsigned int sharedOfaCount;
  char name[kNameBufferSize];
  unsigned int capabilities;
};

struct nvmlComputeInstanceInfo_t {
  nvmlDevice_t device;
  nvmlGpuInstance_t gpuInstance;
  unsigned int id;
  unsigned int profileId;
  nvmlComputeInstancePlacement_t placement;
};

struct nvmlEventData_t {
  nvmlDevice_t device;
  unsigned long long eventType;
  unsigned long long eventData;
  unsigned int gpuInstanceId;
  unsigned int computeInstanceId;
};

union nvmlValue_t {
  double dVal;
  int siVal;
  unsigned int uiVal;
  unsigned long ulVal;
  unsigned long long ullVal;
  signed long long sllVal;
  unsigned short usVal;
};

struct nvmlSample_t {
  unsigned long long timeStamp;
  nvmlValue_t sampleValue;
};

struct nvmlFieldValue_t {
  unsigned int fieldId;
  unsigned int scopeId;
  long long timestamp;
  long long latencyUsec;
  unsigned int valueType;
  nvmlReturn_t nvmlReturn;
  nvmlValue_t value;
};

// Grows with each release of the header; the library touches no more than the caller asks for.
inline constexpr unsigned int NVML_GPM_METRIC_MAX = 477;

struct GpmMetricInfo {  // without a name in nvml.h
  char* shortName;
  char* longName;
  char* unit;
};

struct nvmlGpmMetric_t {
  unsigned int metricId;
  nvmlReturn_t nvmlReturn;
  double value;
  GpmMetricInfo metricInfo;
};

struct nvmlGpmMetricsGet_t {
  unsigned int version;
  unsigned int numMetrics;
  nvmlGpmSample_t sample1;
  nvmlGpmSample_t sample2;
  nvmlGpmMetric_t metrics[NVML_GPM_METRIC_MAX];
};

struct nvmlGpmSupport_t {
  unsigned int version;
  unsigned int isSupportedDevice;
};

struct nvmlDeviceAddressingMode_v1_t {
  unsigned int version;
  unsigned int value;
};

struct nvmlGpuFabricInfo_t {
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned int cliqueId;
  unsigned char state;
};

struct nvmlGpuFabricInfo_v2_t {
  unsigned int version;
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned int cliqueId;
  unsigned char state;
  unsigned int healthMask;
};

struct nvmlGpuFabricInfo_v3_t {
  unsigned int version;
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned int cliqueId;
  unsigned char state;
  unsigned int healthMask;
  unsigned char healthSummary;
};

struct nvmlSetMemoryLimits_v1_t {
  const char* nameSpace;
  unsigned long long softLimit;
  unsigned long long hardLimit;
};

struct nvmlGetMemoryLimits_v1_t {
  const char* nameSpace;
  unsigned long long softLimit;
  unsigned long long hardLimit;
  unsigned long long currentUsed;
};

inline constexpr unsigned long long NVML_DEVICE_MEMORY_LIMIT_MAX = 0xFFFFFFFFFFFFFFFF;

// Event types (bits), and what is delivered.
inline constexpr unsigned long long nvmlEventTypeSingleBitEccError = 0x1;
inline constexpr unsigned long long nvmlEventTypeDoubleBitEccError = 0x2;
inline constexpr unsigned long long nvmlEventTypePState = 0x4;
inline constexpr unsigned long long nvmlEventTypeXidCriticalError = 0x8;
inline constexpr unsigned long long nvmlEventTypeClock = 0x10;
inline constexpr unsigned long long nvmlEventMigConfigChange = 0x100;
inline constexpr unsigned long long nvmlEventTypeGpuRecoveryAction = 0x8000;

// Field ids of nvmlDeviceGetFieldValues.
inline constexpr unsigned int NVML_FI_DEV_PERF_POLICY_POWER = 74;
inline constexpr unsigned int NVML_FI_DEV_PERF_POLICY_THERMAL = 75;
inline constexpr unsigned int NVML_FI_DEV_MEMORY_TEMP = 82;
inline constexpr unsigned int NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION = 83;
inline constexpr unsigned int NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON = 90;
inline constexpr unsigned int NVML_FI_DEV_NVLINK_LINK_COUNT = 91;
inline constexpr unsigned int NVML_FI_DEV_PCIE_REPLAY_COUNTER = 94;
inline constexpr unsigned int NVML_FI_DEV_REMAPPED_COR = 142;
inline constexpr unsigned int NVML_FI_DEV_REMAPPED_UNC = 143;
inline constexpr unsigned int NVML_FI_DEV_REMAPPED_FAILURE = 145;
inline constexpr unsigned int NVML_FI_DEV_POWER_AVERAGE = 185;
inline constexpr unsigned int NVML_FI_DEV_POWER_INSTANT = 186;
inline constexpr unsigned int NVML_FI_DEV_GET_GPU_RECOVERY_ACTION = 230;

inline constexpr unsigned int NVML_VALUE_TYPE_UNSIGNED_INT = 1;
inline constexpr unsigned int NVML_VALUE_TYPE_UNSIGNED_LONG = 2;
inline constexpr unsigned int NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3;

// nvmlPerfPolicyType_t
inline constexpr unsigned int NVML_PERF_POLICY_POWER = 0;
inline constexpr unsigned int NVML_PERF_POLICY_THERMAL = 1;
inline constexpr unsigned int NVML_PERF_POLICY_TOTAL_BASE_CLOCKS = 11;

// GPM's versions, and the metrics that are served: percent, and MiB per second.
inline constexpr unsigned int NVML_GPM_METRICS_GET_VERSION = 1;
inline constexpr unsigned int NVML_GPM_SUPPORT_VERSION = 1;
inline constexpr unsigned int NVML_GPM_METRIC_GRAPHICS_UTIL = 1;
inline constexpr unsigned int NVML_GPM_METRIC_SM_UTIL = 2;
inline constexpr unsigned int NVML_GPM_METRIC_SM_OCCUPANCY = 3;
inline constexpr unsigned int NVML_GPM_METRIC_INTEGER_UTIL = 4;
inline constexpr unsigned int NVML_GPM_METRIC_ANY_TENSOR_UTIL = 5;
inline constexpr unsigned int NVML_GPM_METRIC_DRAM_BW_UTIL = 10;
inline constexpr unsigned int NVML_GPM_METRIC_FP64_UTIL = 11;
inline constexpr unsigned int NVML_GPM_METRIC_FP32_UTIL = 12;
inline constexpr unsigned int NVML_GPM_METRIC_FP16_UTIL = 13;
inline constexpr unsigned int NVML_GPM_METRIC_PCIE_TX_PER_SEC = 20;
inline constexpr unsigned int NVML_GPM_METRIC_PCIE_RX_PER_SEC = 21;
inline constexpr unsigned int NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC = 60;
inline constexpr unsigned int NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC = 61;

// P2P: nvmlGpuTopologyLevel_t, nvmlGpuP2PStatus_t, nvmlGpuP2PCapsIndex_t, remote link types.
inline constexpr int NVML_TOPOLOGY_INTERNAL = 0;
inline constexpr int NVML_TOPOLOGY_SINGLE = 10;
inline constexpr int NVML_TOPOLOGY_MULTIPLE = 20;
inline constexpr int NVML_TOPOLOGY_HOSTBRIDGE = 30;
inline constexpr int NVML_TOPOLOGY_NODE = 40;
inline constexpr int NVML_TOPOLOGY_SYSTEM = 50;
inline constexpr int NVML_P2P_STATUS_OK = 0;
inline constexpr int NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED = 1;
inline constexpr int NVML_P2P_STATUS_GPU_NOT_SUPPORTED = 2;
inline constexpr int NVML_P2P_STATUS_NOT_SUPPORTED = 5;
inline constexpr int NVML_P2P_CAPS_INDEX_NVLINK = 2;
inline constexpr int NVML_P2P_CAPS_INDEX_UNKNOWN = 5;
inline constexpr int NVML_NVLINK_DEVICE_TYPE_GPU = 0;
inline constexpr int NVML_NVLINK_DEVICE_TYPE_SWITCH = 2;
inline constexpr unsigned int NVML_DEVICE_ADDRESSING_MODE_HMM = 1;

inline constexpr unsigned int NVML_GPU_INSTANCE_PROFILE_COUNT = 18;
inline constexpr unsigned int NVML_COMPUTE_INSTANCE_PROFILE_COUNT = 9;

}  // namespace tranche::sim::abi
// NOLINTEND(readability-identifier-naming)
