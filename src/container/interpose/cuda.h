#pragma once
// The driver API's types as far as the limiter looks into them (CUDA 13.5, x86-64 and aarch64
// Linux; tests/limits/test_symbols.py compares). Pointers are `void*` in symbols.def; they are cast
// to their type where they are used.

#include <cstddef>
#include <cstdint>

namespace tranche::interpose {

using std::size_t;
using CUdeviceptr = std::uint64_t;
using Context = void*;
using Stream = void*;
using Event = void*;

enum Status : int {  // CUresult
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNotReady = 600,
};

// Stream handles that do not refer to an object.
inline constexpr std::uintptr_t kLegacyStream = 1;
inline constexpr std::uintptr_t kPerThreadStream = 2;

struct Location {
  int type;
  int id;
};
inline constexpr int kLocationDevice = 1;
inline constexpr int kLocationLocalityDomain = 6;  // a portion of a device's memory
// The device that the memory belongs to; -1: none.
constexpr int device_of(const Location& location) {
  if (location.type == kLocationDevice) return location.id;
  // There the union begins with one byte for the device.
  return location.type == kLocationLocalityDomain ? location.id & 0xFF : -1;
}

struct ArrayDescriptor {
  size_t width, height;
  int format;
  unsigned channels;
};
struct Array3dDescriptor {
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
};
// The structures before CUDA 3.2, with 32 bits.
struct OldArrayDescriptor {
  unsigned width, height;
  int format;
  unsigned channels;
};
struct OldArray3dDescriptor {
  unsigned width, height, depth;
  int format;
  unsigned channels, flags;
};
// For these nothing is allocated: memory is mapped into them later.
inline constexpr unsigned kArraySparse = 0x40;
inline constexpr unsigned kArrayDeferred = 0x80;
inline constexpr unsigned kArrayCubemap = 0x4;

struct ArrayMapping {  // CUarrayMapInfo
  int resource_type;
  void* resource;
  int subresource_type;
  std::uint64_t subresource[4];
  int operation;
  int handle_type;
  std::uint64_t handle;
  std::uint64_t offset;
  unsigned devices, flags, reserved[2];
};
static_assert(sizeof(ArrayMapping) == 96 && offsetof(ArrayMapping, handle) == 64);
inline constexpr int kMapMemory = 1;  // CU_MEM_OPERATION_TYPE_MAP

struct AllocationProperties {  // CUmemAllocationProp
  int type;
  int handle_types;
  Location location;
};
struct PoolProperties {  // CUmemPoolProps
  int type;
  int handle_types;
  Location location;
};
inline constexpr int kAllocationManaged = 2;     // CU_MEM_ALLOCATION_TYPE_MANAGED
inline constexpr int kPoolReservedCurrent = 5;   // CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
inline constexpr int kGraphReservedCurrent = 2;  // CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT

inline constexpr int kNodeGraph = 4;  // CU_GRAPH_NODE_TYPE_GRAPH: a child
inline constexpr int kNodeMemAlloc = 10;
struct MemAllocNodeParameters {  // CUDA_MEM_ALLOC_NODE_PARAMS
  PoolProperties pool;
  unsigned char pool_rest[88 - sizeof(PoolProperties)];
  const void* access;
  size_t access_count;
  size_t bytes;
  CUdeviceptr address;
};

struct LaunchConfig {  // CUlaunchConfig
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  Stream stream;
};
struct MultiDeviceLaunch {  // CUDA_LAUNCH_PARAMS
  void* function;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  Stream stream;
  void** parameters;
};

inline constexpr int kCaptureRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
inline constexpr unsigned kNonBlocking = 1;

}  // namespace tranche::interpose
