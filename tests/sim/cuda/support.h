#pragma once
// Shared by the tests of the simulated CUDA driver: a program written only against its interface. A
// process has one driver, which refuses to work after a fork, so every test runs its body in a
// child process; a failed expectation there fails the test.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "sim/cuda/abi_graph.h"
#include "sim/support.h"

namespace tranche::sim::cuda::test {

using namespace abi;  // NOLINT(google-build-using-namespace): CUDA's names are the point here
using sim::test::World;

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

// Functions by their symbols, with the types of their parameters.
#define TEST_FUNCTIONS(X)                                                                          \
  X(cuInit, unsigned)                                                                              \
  X(cuDriverGetVersion, int*)                                                                      \
  X(cuGetProcAddress_v2, const char*, void**, int, unsigned long long,                             \
    CUdriverProcAddressQueryResult*)                                                               \
  X(cuGetProcAddress, const char*, void**, int, unsigned long long)                                \
  X(cuGetErrorName, CUresult, const char**)                                                        \
  X(cuGetErrorString, CUresult, const char**)                                                      \
  X(cuGetExportTable, const void**, const CUuuid*)                                                 \
  X(cuDeviceGetCount, int*)                                                                        \
  X(cuDeviceGet, CUdevice*, int)                                                                   \
  X(cuDeviceGetName, char*, int, CUdevice)                                                         \
  X(cuDeviceGetUuid, CUuuid*, CUdevice)                                                            \
  X(cuDeviceGetUuid_v2, CUuuid*, CUdevice)                                                         \
  X(cuDeviceTotalMem_v2, std::size_t*, CUdevice)                                                   \
  X(cuDeviceGetAttribute, int*, int, CUdevice)                                                     \
  X(cuDeviceGetPCIBusId, char*, int, CUdevice)                                                     \
  X(cuDeviceGetByPCIBusId, CUdevice*, const char*)                                                 \
  X(cuDeviceCanAccessPeer, int*, CUdevice, CUdevice)                                               \
  X(cuCtxCreate_v2, CUcontext*, unsigned, CUdevice)                                                \
  X(cuCtxCreate_v4, CUcontext*, CUctxCreateParams*, unsigned, CUdevice)                            \
  X(cuCtxDestroy_v2, CUcontext)                                                                    \
  X(cuCtxPushCurrent_v2, CUcontext)                                                                \
  X(cuCtxPopCurrent_v2, CUcontext*)                                                                \
  X(cuCtxSetCurrent, CUcontext)                                                                    \
  X(cuCtxGetCurrent, CUcontext*)                                                                   \
  X(cuCtxGetDevice, CUdevice*)                                                                     \
  X(cuCtxSynchronize)                                                                              \
  X(cuCtxGetLimit, std::size_t*, CUlimit)                                                          \
  X(cuCtxSetLimit, CUlimit, std::size_t)                                                           \
  X(cuDevicePrimaryCtxRetain, CUcontext*, CUdevice)                                                \
  X(cuDevicePrimaryCtxRelease_v2, CUdevice)                                                        \
  X(cuDevicePrimaryCtxReset_v2, CUdevice)                                                          \
  X(cuDevicePrimaryCtxGetState, CUdevice, unsigned*, int*)                                         \
  X(cuMemAlloc_v2, CUdeviceptr*, std::size_t)                                                      \
  X(cuMemAllocPitch_v2, CUdeviceptr*, std::size_t*, std::size_t, std::size_t, unsigned)            \
  X(cuMemAllocManaged, CUdeviceptr*, std::size_t, unsigned)                                        \
  X(cuMemFree_v2, CUdeviceptr)                                                                     \
  X(cuMemGetInfo_v2, std::size_t*, std::size_t*)                                                   \
  X(cuMemGetAddressRange_v2, CUdeviceptr*, std::size_t*, CUdeviceptr)                              \
  X(cuMemHostAlloc, void**, std::size_t, unsigned)                                                 \
  X(cuMemFreeHost, void*)                                                                          \
  X(cuMemHostRegister_v2, void*, std::size_t, unsigned)                                            \
  X(cuMemHostUnregister, void*)                                                                    \
  X(cuMemHostGetDevicePointer_v2, CUdeviceptr*, void*, unsigned)                                   \
  X(cuMemHostGetFlags, unsigned*, void*)                                                           \
  X(cuMemPrefetchAsync, CUdeviceptr, std::size_t, CUdevice, CUstream)                              \
  X(cuPointerGetAttribute, void*, CUpointer_attribute, CUdeviceptr)                                \
  X(cuPointerGetAttributes, unsigned, CUpointer_attribute*, void**, CUdeviceptr)                   \
  X(cuMemcpy, CUdeviceptr, CUdeviceptr, std::size_t)                                               \
  X(cuMemcpyHtoD_v2, CUdeviceptr, const void*, std::size_t)                                        \
  X(cuMemcpyDtoH_v2, void*, CUdeviceptr, std::size_t)                                              \
  X(cuMemcpyDtoD_v2, CUdeviceptr, CUdeviceptr, std::size_t)                                        \
  X(cuMemcpyAsync, CUdeviceptr, CUdeviceptr, std::size_t, CUstream)                                \
  X(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void*, std::size_t, CUstream)                         \
  X(cuMemcpyDtoHAsync_v2, void*, CUdeviceptr, std::size_t, CUstream)                               \
  X(cuMemcpy2D_v2, const CUDA_MEMCPY2D*)                                                           \
  X(cuMemcpy3D_v2, const CUDA_MEMCPY3D*)                                                           \
  X(cuMemcpyHtoA_v2, CUarray, std::size_t, const void*, std::size_t)                               \
  X(cuMemcpyAtoH_v2, void*, CUarray, std::size_t, std::size_t)                                     \
  X(cuMemsetD8_v2, CUdeviceptr, unsigned char, std::size_t)                                        \
  X(cuMemsetD32_v2, CUdeviceptr, unsigned, std::size_t)                                            \
  X(cuMemsetD2D16_v2, CUdeviceptr, std::size_t, unsigned short, std::size_t, std::size_t)          \
  X(cuMemsetD8Async, CUdeviceptr, unsigned char, std::size_t, CUstream)                            \
  X(cuArrayCreate_v2, CUarray*, const CUDA_ARRAY_DESCRIPTOR*)                                      \
  X(cuArray3DCreate_v2, CUarray*, const CUDA_ARRAY3D_DESCRIPTOR*)                                  \
  X(cuArrayGetDescriptor_v2, CUDA_ARRAY_DESCRIPTOR*, CUarray)                                      \
  X(cuArrayDestroy, CUarray)                                                                       \
  X(cuMipmappedArrayCreate, CUmipmappedArray*, const CUDA_ARRAY3D_DESCRIPTOR*, unsigned)           \
  X(cuMipmappedArrayGetLevel, CUarray*, CUmipmappedArray, unsigned)                                \
  X(cuMipmappedArrayDestroy, CUmipmappedArray)                                                     \
  X(cuMemsetD32Async, CUdeviceptr, unsigned, std::size_t, CUstream)                                \
  X(cuMemAllocAsync, CUdeviceptr*, std::size_t, CUstream)                                          \
  X(cuMemAllocFromPoolAsync, CUdeviceptr*, std::size_t, CUmemoryPool, CUstream)                    \
  X(cuMemFreeAsync, CUdeviceptr, CUstream)                                                         \
  X(cuDeviceGetDefaultMemPool, CUmemoryPool*, CUdevice)                                            \
  X(cuMemGetDefaultMemPool, CUmemoryPool*, CUmemLocation*, CUmemAllocationType)                    \
  X(cuMemGetMemPool, CUmemoryPool*, CUmemLocation*, CUmemAllocationType)                           \
  X(cuMemPoolCreate, CUmemoryPool*, const CUmemPoolProps*)                                         \
  X(cuMemPoolDestroy, CUmemoryPool)                                                                \
  X(cuMemPoolTrimTo, CUmemoryPool, std::size_t)                                                    \
  X(cuMemPoolGetAttribute, CUmemoryPool, CUmemPool_attribute, void*)                               \
  X(cuMemPoolSetAttribute, CUmemoryPool, CUmemPool_attribute, void*)                               \
  X(cuMemGetAllocationGranularity, std::size_t*, const CUmemAllocationProp*,                       \
    CUmemAllocationGranularity_flags)                                                              \
  X(cuMemCreate, CUmemGenericAllocationHandle*, std::size_t, const CUmemAllocationProp*,           \
    unsigned long long)                                                                            \
  X(cuMemRelease, CUmemGenericAllocationHandle)                                                    \
  X(cuMemAddressReserve, CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr, unsigned long long)  \
  X(cuMemAddressFree, CUdeviceptr, std::size_t)                                                    \
  X(cuMemMap, CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle,                 \
    unsigned long long)                                                                            \
  X(cuMemUnmap, CUdeviceptr, std::size_t)                                                          \
  X(cuMemSetAccess, CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t)                 \
  X(cuMemExportToShareableHandle, void*, CUmemGenericAllocationHandle, CUmemAllocationHandleType,  \
    unsigned long long)                                                                            \
  X(cuMemImportFromShareableHandle, CUmemGenericAllocationHandle*, void*,                          \
    CUmemAllocationHandleType)                                                                     \
  X(cuMemMapArrayAsync, CUarrayMapInfo*, unsigned, CUstream)                                       \
  X(cuArrayGetSparseProperties, CUDA_ARRAY_SPARSE_PROPERTIES*, CUarray)                            \
  X(cuMulticastCreate, CUmemGenericAllocationHandle*, const CUmulticastObjectProp*)                \
  X(cuMulticastAddDevice, CUmemGenericAllocationHandle, CUdevice)                                  \
  X(cuMulticastBindMem, CUmemGenericAllocationHandle, std::size_t, CUmemGenericAllocationHandle,   \
    std::size_t, std::size_t, unsigned long long)                                                  \
  X(cuMulticastBindAddr, CUmemGenericAllocationHandle, std::size_t, CUdeviceptr, std::size_t,      \
    unsigned long long)                                                                            \
  X(cuMulticastUnbind, CUmemGenericAllocationHandle, CUdevice, std::size_t, std::size_t)           \
  X(cuMemRetainAllocationHandle, CUmemGenericAllocationHandle*, void*)                             \
  X(cuIpcGetMemHandle, CUipcMemHandle*, CUdeviceptr)                                               \
  X(cuIpcOpenMemHandle_v2, CUdeviceptr*, CUipcMemHandle, unsigned)                                 \
  X(cuIpcCloseMemHandle, CUdeviceptr)                                                              \
  X(cuImportExternalMemory, CUexternalMemory*, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC*)            \
  X(cuExternalMemoryGetMappedBuffer, CUdeviceptr*, CUexternalMemory,                               \
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC*)                                                       \
  X(cuDestroyExternalMemory, CUexternalMemory)                                                     \
  X(cuModuleLoadData, CUmodule*, const void*)                                                      \
  X(cuModuleLoadDataEx, CUmodule*, const void*, unsigned, CUjit_option*, void**)                   \
  X(cuModuleUnload, CUmodule)                                                                      \
  X(cuModuleGetFunction, CUfunction*, CUmodule, const char*)                                       \
  X(cuModuleGetGlobal_v2, CUdeviceptr*, std::size_t*, CUmodule, const char*)                       \
  X(cuModuleGetLoadingMode, CUmoduleLoadingMode*)                                                  \
  X(cuFuncLoad, CUfunction)                                                                        \
  X(cuFuncIsLoaded, CUfunctionLoadingState*, CUfunction)                                           \
  X(cuModuleGetFunctionCount, unsigned*, CUmodule)                                                 \
  X(cuLibraryLoadData, CUlibrary*, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*, \
    void**, unsigned)                                                                              \
  X(cuLibraryGetKernel, CUkernel*, CUlibrary, const char*)                                         \
  X(cuLibraryUnload, CUlibrary)                                                                    \
  X(cuKernelGetFunction, CUfunction*, CUkernel)                                                    \
  X(cuFuncGetAttribute, int*, CUfunction_attribute, CUfunction)                                    \
  X(cuFuncSetAttribute, CUfunction, CUfunction_attribute, int)                                     \
  X(cuFuncGetParamInfo, CUfunction, std::size_t, std::size_t*, std::size_t*)                       \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, int*, CUfunction, int, std::size_t)               \
  X(cuOccupancyMaxPotentialBlockSize, int*, int*, CUfunction, CUoccupancyB2DSize, std::size_t,     \
    int)                                                                                           \
  X(cuLaunchKernel, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,        \
    unsigned, CUstream, void**, void**)                                                            \
  X(cuLaunchKernel_ptsz, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
    unsigned, CUstream, void**, void**)                                                            \
  X(cuLaunchKernelEx, const CUlaunchConfig*, CUfunction, void**, void**)                           \
  X(cuLaunchCooperativeKernel, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,       \
    unsigned, unsigned, CUstream, void**)                                                          \
  X(cuFuncSetBlockShape, CUfunction, int, int, int)                                                \
  X(cuParamSetSize, CUfunction, unsigned)                                                          \
  X(cuParamSetv, CUfunction, int, void*, unsigned)                                                 \
  X(cuLaunch, CUfunction)                                                                          \
  X(cuLaunchGrid, CUfunction, int, int)                                                            \
  X(cuLaunchGridAsync, CUfunction, int, int, CUstream)                                             \
  X(cuLaunchHostFunc, CUstream, CUhostFn, void*)                                                   \
  X(cuStreamAddCallback, CUstream, CUstreamCallback, void*, unsigned)                              \
  X(cuStreamCreate, CUstream*, unsigned)                                                           \
  X(cuStreamCreateWithPriority, CUstream*, unsigned, int)                                          \
  X(cuStreamGetPriority, CUstream, int*)                                                           \
  X(cuStreamDestroy_v2, CUstream)                                                                  \
  X(cuStreamSynchronize, CUstream)                                                                 \
  X(cuStreamQuery, CUstream)                                                                       \
  X(cuStreamWaitEvent, CUstream, CUevent, unsigned)                                                \
  X(cuStreamWaitValue32_v2, CUstream, CUdeviceptr, std::uint32_t, unsigned)                        \
  X(cuStreamWriteValue32_v2, CUstream, CUdeviceptr, std::uint32_t, unsigned)                       \
  X(cuStreamBeginCapture_v2, CUstream, CUstreamCaptureMode)                                        \
  X(cuStreamBeginCaptureToGraph, CUstream, CUgraph, const CUgraphNode*, const CUgraphEdgeData*,    \
    std::size_t, CUstreamCaptureMode)                                                              \
  X(cuStreamEndCapture, CUstream, CUgraph*)                                                        \
  X(cuStreamIsCapturing, CUstream, CUstreamCaptureStatus*)                                         \
  X(cuThreadExchangeStreamCaptureMode, CUstreamCaptureMode*)                                       \
  X(cuEventCreate, CUevent*, unsigned)                                                             \
  X(cuEventDestroy_v2, CUevent)                                                                    \
  X(cuEventRecord, CUevent, CUstream)                                                              \
  X(cuEventQuery, CUevent)                                                                         \
  X(cuEventSynchronize, CUevent)                                                                   \
  X(cuEventElapsedTime, float*, CUevent, CUevent)                                                  \
  X(cuIpcGetEventHandle, CUipcEventHandle*, CUevent)                                               \
  X(cuIpcOpenEventHandle, CUevent*, CUipcEventHandle)                                              \
  X(cuGraphCreate, CUgraph*, unsigned)                                                             \
  X(cuGraphDestroy, CUgraph)                                                                       \
  X(cuGraphGetNodes, CUgraph, CUgraphNode*, std::size_t*)                                          \
  X(cuGraphGetEdges, CUgraph, CUgraphNode*, CUgraphNode*, std::size_t*)                            \
  X(cuGraphNodeGetType, CUgraphNode, CUgraphNodeType*)                                             \
  X(cuGraphAddDependencies, CUgraph, const CUgraphNode*, const CUgraphNode*, std::size_t)          \
  X(cuGraphAddKernelNode_v2, CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,               \
    const CUDA_KERNEL_NODE_PARAMS_v2*)                                                             \
  X(cuGraphKernelNodeGetParams_v2, CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*)                       \
  X(cuGraphExecKernelNodeSetParams_v2, CUgraphExec, CUgraphNode,                                   \
    const CUDA_KERNEL_NODE_PARAMS_v2*)                                                             \
  X(cuGraphAddHostNode, CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,                    \
    const CUDA_HOST_NODE_PARAMS_v1*)                                                               \
  X(cuGraphAddChildGraphNode, CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, CUgraph)     \
  X(cuGraphAddNode_v2, CUgraphNode*, CUgraph, const CUgraphNode*, const CUgraphEdgeData*,          \
    std::size_t, CUgraphNodeParams*)                                                               \
  X(cuGraphConditionalHandleCreate, CUgraphConditionalHandle*, CUgraph, CUcontext, unsigned,       \
    unsigned)                                                                                      \
  X(cuGraphInstantiateWithFlags, CUgraphExec*, CUgraph, unsigned long long)                        \
  X(cuGraphInstantiateWithParams, CUgraphExec*, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS*)           \
  X(cuGraphLaunch, CUgraphExec, CUstream)                                                          \
  X(cuGraphExecUpdate_v2, CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo*)                      \
  X(cuGraphExecDestroy, CUgraphExec)                                                               \
  X(cuDeviceGetGraphMemAttribute, CUdevice, CUgraphMem_attribute, void*)                           \
  X(cuDeviceGraphMemTrim, CUdevice)                                                                \
  X(cuGreenCtxCreate, void**, void*, CUdevice, unsigned)

// The library, loaded; every function must be there.
struct Cuda {
  Cuda() : handle(::dlopen(TRANCHE_SIM_CUDA, RTLD_NOW | RTLD_LOCAL)) {
    if (handle == nullptr) ADD_FAILURE() << ::dlerror();
#define LOAD(name, ...)                                                       \
  name = reinterpret_cast<CUresult (*)(__VA_ARGS__)>(::dlsym(handle, #name)); \
  if (name == nullptr) ADD_FAILURE() << #name << " is not exported";
    TEST_FUNCTIONS(LOAD)
#undef LOAD
  }

  void* handle;
#define DECLARE(name, ...) CUresult (*name)(__VA_ARGS__);
  TEST_FUNCTIONS(DECLARE)
#undef DECLARE
};

// One that is initialised and has a context on device 0, current.
struct Program : Cuda {
  Program() {
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
  }
  CUcontext context = nullptr;

  CUfunction function(const char* ptx, const char* name) {
    CUmodule module = nullptr;
    CUfunction found = nullptr;
    EXPECT_EQ(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleGetFunction(&found, module, name), CUDA_SUCCESS);
    return found;
  }
  CUresult spin(CUfunction kernel, std::uint64_t ns, CUstream stream = nullptr) {
    void* parameters[] = {&ns};
    return cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
  }
  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream made = nullptr;
    EXPECT_EQ(cuStreamCreate(&made, flags), CUDA_SUCCESS);
    return made;
  }
  CUevent event(unsigned flags = 0) {
    CUevent made = nullptr;
    EXPECT_EQ(cuEventCreate(&made, flags), CUDA_SUCCESS);
    return made;
  }
  CUevent record(CUstream stream = nullptr) {
    CUevent made = event();
    EXPECT_EQ(cuEventRecord(made, stream), CUDA_SUCCESS);
    return made;
  }
  // Milliseconds.
  float between(CUevent from, CUevent to) {
    float ms = -1;
    EXPECT_EQ(cuEventElapsedTime(&ms, from, to), CUDA_SUCCESS);
    return ms;
  }
  CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc_v2(&address, bytes), CUDA_SUCCESS);
    return address;
  }
  std::size_t free_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_EQ(cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
    return free;
  }
};

// Keeps the GPU busy for as many nanoseconds as its parameter: by declaration here, by spinning on
// a GPU.
inline constexpr const char* kSpin = R"(
.version 7.0
.target sm_70
.address_size 64

// tranche-sim: duration-ns = param 0
.visible .entry spin(.param .u64 duration)
{
  .reg .pred %p<2>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [duration];
  mov.u64 %rd2, %globaltimer;
again:
  mov.u64 %rd3, %globaltimer;
  sub.s64 %rd4, %rd3, %rd2;
  setp.lt.u64 %p1, %rd4, %rd1;
  @%p1 bra again;
  ret;
}
)";

// The same; kernels that leave multiprocessors free run at the same time.
inline constexpr const char* kSpinOverlapping = R"(
.version 7.0
.target sm_70
.address_size 64

// tranche-sim: duration-ns = param 0 beside-others
.visible .entry spin(.param .u64 duration) { ret; }
)";

// They set the value of a conditional node when they end: by declaration here, by
// cudaGraphSetConditional on a GPU.
inline constexpr const char* kSetters = R"(
.version 7.0
.target sm_70
.address_size 64

// tranche-sim: duration-ns = param 0
// tranche-sim: set-conditional = param 1 value param 2
.visible .entry choose(.param .u64 duration, .param .u64 handle, .param .u32 value) { ret; }

// tranche-sim: duration-ns = param 0
// tranche-sim: set-conditional = param 1 word param 2
.visible .entry look(.param .u64 duration, .param .u64 handle, .param .u64 word) { ret; }

// tranche-sim: duration-ns = param 0
// tranche-sim: set-conditional = param 1 count-down param 2
.visible .entry count_down(.param .u64 duration, .param .u64 handle, .param .u64 word) { ret; }
)";

// Runs `body` in a child process. Its exit status: 0, or 1 after a failed expectation.
inline pid_t start(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  body();
  std::fflush(nullptr);
  ::_exit(testing::Test::HasFailure() ? 1 : 0);
}
inline void expect_success(pid_t pid) {
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the program failed: " << status;
}
inline void in_program(const std::function<void()>& body) { expect_success(start(body)); }

// A machine whose time is virtual.
class VirtualWorld : public World {
 public:
  explicit VirtualWorld(std::string_view machine) : World(machine) {
    ::setenv("TRANCHE_SIM_CLOCK", "virtual", 1);
  }
  ~VirtualWorld() { ::unsetenv("TRANCHE_SIM_CLOCK"); }
};

}  // namespace tranche::sim::cuda::test
