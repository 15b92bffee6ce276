#pragma once
// Our own declarations of the part of the CUDA driver API that the load generator calls, so that no
// toolkit is needed to build or run it. Names and layouts are those of the public interface.
// Symbols are named with their version, and drivers keep each version forever.

#include <cstddef>
#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's
namespace tranche::load {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUarray = struct CUarray_st*;
using CUmemGenericAllocationHandle = unsigned long long;

inline constexpr CUresult CUDA_SUCCESS = 0;
inline constexpr CUresult CUDA_ERROR_OUT_OF_MEMORY = 2;
inline constexpr CUresult CUDA_ERROR_NO_DEVICE = 100;
inline constexpr CUresult CUDA_ERROR_INVALID_DEVICE = 101;
inline constexpr int CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39;
inline constexpr int CU_COMPUTEMODE_DEFAULT = 0;
inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
inline constexpr unsigned CU_EVENT_BLOCKING_SYNC = 1;
inline constexpr int CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1;
inline constexpr unsigned CU_MEM_ATTACH_GLOBAL = 1;
inline constexpr int CU_MEM_ALLOCATION_TYPE_PINNED = 1;
inline constexpr int CU_MEM_LOCATION_TYPE_DEVICE = 1;
inline constexpr int CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0;
inline constexpr int CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3;
inline constexpr int CU_AD_FORMAT_UNSIGNED_INT32 = 3;

struct CUmemLocation {
  int type;
  int id;
};
struct CUmemAllocationProp {
  int type;
  int requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  unsigned char allocFlags[8];
};
static_assert(sizeof(CUmemAllocationProp) == 32);
struct CUmemAccessDesc {
  CUmemLocation location;
  int flags;
};
static_assert(sizeof(CUmemAccessDesc) == 12);
struct CUDA_ARRAY_DESCRIPTOR {
  std::size_t Width;
  std::size_t Height;
  int Format;
  unsigned NumChannels;
};
static_assert(sizeof(CUDA_ARRAY_DESCRIPTOR) == 24);

// X(member of CudaApi, symbol, parameters...). Drivers since CUDA 11.4 have all of them.
#define TRANCHE_LOAD_CUDA_FUNCTIONS(X)                                                            \
  X(cuInit, "cuInit", unsigned)                                                                   \
  X(cuGetErrorName, "cuGetErrorName", CUresult, const char**)                                     \
  X(cuGetErrorString, "cuGetErrorString", CUresult, const char**)                                 \
  X(cuDeviceGet, "cuDeviceGet", CUdevice*, int)                                                   \
  X(cuDeviceGetCount, "cuDeviceGetCount", int*)                                                   \
  X(cuDeviceGetName, "cuDeviceGetName", char*, int, CUdevice)                                     \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute", int*, int, CUdevice)                            \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", std::size_t*, CUdevice)                              \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", CUcontext*, CUdevice)                   \
  X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", CUdevice)                          \
  X(cuCtxSetCurrent, "cuCtxSetCurrent", CUcontext)                                                \
  X(cuCtxSynchronize, "cuCtxSynchronize")                                                         \
  X(cuModuleLoadData, "cuModuleLoadData", CUmodule*, const void*)                                 \
  X(cuModuleGetFunction, "cuModuleGetFunction", CUfunction*, CUmodule, const char*)               \
  X(cuStreamCreate, "cuStreamCreate", CUstream*, unsigned)                                        \
  X(cuStreamSynchronize, "cuStreamSynchronize", CUstream)                                         \
  X(cuStreamBeginCapture, "cuStreamBeginCapture_v2", CUstream, int)                               \
  X(cuStreamEndCapture, "cuStreamEndCapture", CUstream, CUgraph*)                                 \
  X(cuEventCreate, "cuEventCreate", CUevent*, unsigned)                                           \
  X(cuEventRecord, "cuEventRecord", CUevent, CUstream)                                            \
  X(cuEventSynchronize, "cuEventSynchronize", CUevent)                                            \
  X(cuEventElapsedTime, "cuEventElapsedTime", float*, CUevent, CUevent)                           \
  X(cuLaunchKernel, "cuLaunchKernel", CUfunction, unsigned, unsigned, unsigned, unsigned,         \
    unsigned, unsigned, unsigned, CUstream, void**, void**)                                       \
  X(cuGraphInstantiate, "cuGraphInstantiateWithFlags", CUgraphExec*, CUgraph, unsigned long long) \
  X(cuGraphLaunch, "cuGraphLaunch", CUgraphExec, CUstream)                                        \
  X(cuGraphDestroy, "cuGraphDestroy", CUgraph)                                                    \
  X(cuMemAlloc, "cuMemAlloc_v2", CUdeviceptr*, std::size_t)                                       \
  X(cuMemAllocPitch, "cuMemAllocPitch_v2", CUdeviceptr*, std::size_t*, std::size_t, std::size_t,  \
    unsigned)                                                                                     \
  X(cuMemAllocManaged, "cuMemAllocManaged", CUdeviceptr*, std::size_t, unsigned)                  \
  X(cuMemFree, "cuMemFree_v2", CUdeviceptr)                                                       \
  X(cuMemAllocAsync, "cuMemAllocAsync", CUdeviceptr*, std::size_t, CUstream)                      \
  X(cuMemFreeAsync, "cuMemFreeAsync", CUdeviceptr, CUstream)                                      \
  X(cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity", std::size_t*,                 \
    const CUmemAllocationProp*, int)                                                              \
  X(cuMemCreate, "cuMemCreate", CUmemGenericAllocationHandle*, std::size_t,                       \
    const CUmemAllocationProp*, unsigned long long)                                               \
  X(cuMemRelease, "cuMemRelease", CUmemGenericAllocationHandle)                                   \
  X(cuMemAddressReserve, "cuMemAddressReserve", CUdeviceptr*, std::size_t, std::size_t,           \
    CUdeviceptr, unsigned long long)                                                              \
  X(cuMemAddressFree, "cuMemAddressFree", CUdeviceptr, std::size_t)                               \
  X(cuMemMap, "cuMemMap", CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle,    \
    unsigned long long)                                                                           \
  X(cuMemUnmap, "cuMemUnmap", CUdeviceptr, std::size_t)                                           \
  X(cuMemSetAccess, "cuMemSetAccess", CUdeviceptr, std::size_t, const CUmemAccessDesc*,           \
    std::size_t)                                                                                  \
  X(cuMemPrefetchAsync, "cuMemPrefetchAsync", CUdeviceptr, std::size_t, CUdevice, CUstream)       \
  X(cuMemsetD8, "cuMemsetD8_v2", CUdeviceptr, unsigned char, std::size_t)                         \
  X(cuArrayCreate, "cuArrayCreate_v2", CUarray*, const CUDA_ARRAY_DESCRIPTOR*)                    \
  X(cuArrayDestroy, "cuArrayDestroy", CUarray)

struct CudaApi {
#define TRANCHE_LOAD_MEMBER(name, symbol, ...) CUresult (*name)(__VA_ARGS__) = nullptr;
  TRANCHE_LOAD_CUDA_FUNCTIONS(TRANCHE_LOAD_MEMBER)
#undef TRANCHE_LOAD_MEMBER
};

}  // namespace tranche::load
// NOLINTEND(readability-identifier-naming)
