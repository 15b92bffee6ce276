#pragma once
// The driver's and NVML's functions as the programs here call them, linked and not looked up.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" {
int cuInit(unsigned flags);
int cuDeviceGetCount(int* count);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxCreate_v2(void** context, unsigned flags, int device);
int cuCtxSetCurrent(void* context);
int cuCtxSynchronize();
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes);
int cuMemFree_v2(std::uint64_t address);
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total);
int cuModuleLoadData(void** module, const void* image);
int cuModuleGetFunction(void** function, void* module, const char* name);
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void* stream, void** parameters, void** extra);

int nvmlInit_v2();
int nvmlDeviceGetCount_v2(unsigned* count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device);
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length);
int nvmlDeviceGetMemoryInfo(void* device, void* memory);
}

inline constexpr std::size_t kMiB = std::size_t{1} << 20U;
inline constexpr int kNotInitialized = 3;
inline constexpr int kOutOfMemory = 2;

// Ends the program when `status` is not what was expected.
inline void expect(int status, int expected, const char* what) {
  if (status == expected) return;
  std::fprintf(stderr, "%s: %d, not %d\n", what, status, expected);
  std::exit(1);
}
#define OK(call) expect(call, 0, #call)

inline constexpr const char* kSpin = R"(
.version 7.0
.target sm_70
.address_size 64
// tranche-sim: duration-ns = param 0
.visible .entry spin(.param .u64 duration) { ret; }
)";

// A program that has a context on the first device.
struct Cuda {
  Cuda() {
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
  }
  void* spin_kernel() {
    void* module = nullptr;
    void* function = nullptr;
    OK(cuModuleLoadData(&module, kSpin));
    OK(cuModuleGetFunction(&function, module, "spin"));
    return function;
  }
  static int spin(void* kernel, std::uint64_t ns, void* stream = nullptr) {
    void* parameters[] = {&ns};
    return cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
  }
  void* context = nullptr;
};

// What NVML shows as the first device's memory.
struct NvmlMemory {
  unsigned long long total, free, used;
};
inline NvmlMemory nvml_memory() {
  void* device = nullptr;
  NvmlMemory memory{};
  OK(nvmlInit_v2());
  OK(nvmlDeviceGetHandleByIndex_v2(0, &device));
  OK(nvmlDeviceGetMemoryInfo(device, &memory));
  return memory;
}
