// What calls of the CUDA driver cost on this machine: "<name> <ns a call>", a line each. Run
// without libtranche-limit.so and with it, in turn, it shows what the limiter adds on that driver.
// Uses plain allocations of 512 bytes and an empty kernel, harmless on a shared GPU.

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "load/cuda.h"

namespace tranche::test {
namespace {

using load::CUDA_SUCCESS;
using Clock = std::chrono::steady_clock;

constexpr char kEmptyKernel[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    "// tranche-sim: duration-ns = 1\n"
    ".visible .entry nothing() { ret; }\n";
constexpr int kBatches = 50;
// Far fewer than a stream's queue has room for: waiting for room is not part of a launch's cost.
constexpr int kBatch = 200;

// Functions that the load generator does not need, found in the same way.
struct MoreFunctions {
  int (*get_proc_address)(const char*, void**, int, std::uint64_t, int*);
  int (*memory_info)(std::size_t*, std::size_t*);
};

template <class Function>
bool resolve(void* library, const char* symbol, Function& out) {
  out = reinterpret_cast<Function>(dlsym(library, symbol));  // NOLINT: as POSIX has it
  return out != nullptr;
}

bool fine(int code, const char* call) {
  if (code != CUDA_SUCCESS) std::fprintf(stderr, "%s: CUDA error %d\n", call, code);
  return code == CUDA_SUCCESS;
}

// The median of the batches; `between` is not timed. False when a call failed.
template <class Call, class Between>
bool measure(const char* name, Call call, Between between) {
  std::vector<double> batches;
  for (int i = 0; i <= kBatches; ++i) {
    int failed = CUDA_SUCCESS;
    const auto begin = Clock::now();
    for (int j = 0; j < kBatch && failed == CUDA_SUCCESS; ++j) failed = call();
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    if (!fine(failed, name) || !fine(between(), name)) return false;
    if (i > 0) batches.push_back(took.count() / kBatch);  // the first one warms up
  }
  std::ranges::nth_element(batches, batches.begin() + kBatches / 2);
  std::printf("%s %.1f\n", name, batches[kBatches / 2]);
  return true;
}

template <class Call>
bool measure(const char* name, Call call) {
  return measure(name, call, [] { return CUDA_SUCCESS; });
}

bool measure_all(const load::CudaApi& cuda, const MoreFunctions& more) {
  load::CUmodule module = nullptr;
  load::CUfunction kernel = nullptr;
  if (!fine(cuda.cuModuleLoadData(&module, kEmptyKernel), "cuModuleLoadData") ||
      !fine(cuda.cuModuleGetFunction(&kernel, module, "nothing"), "cuModuleGetFunction")) {
    return false;
  }
  const auto launch = [&] {
    return cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  };
  const auto allocate_and_free = [&] {
    load::CUdeviceptr address = 0;
    const int code = cuda.cuMemAlloc(&address, 512);
    return code == CUDA_SUCCESS ? cuda.cuMemFree(address) : code;
  };
  void* function = nullptr;
  int status = 0;
  const auto look_up = [&](const char* name, int version) {
    return
        [&, name, version] { return more.get_proc_address(name, &function, version, 0, &status); };
  };
  std::size_t free = 0;
  std::size_t total = 0;
  return measure("launch", launch, cuda.cuCtxSynchronize) &&
         measure("alloc+free", allocate_and_free) &&
         measure("cuGetProcAddress,hooked", look_up("cuMemAlloc", 3020)) &&
         measure("cuGetProcAddress,other", look_up("cuMemHostAlloc", 2020)) &&
         measure("cuMemGetInfo", [&] { return more.memory_info(&free, &total); });
}

int run() {
  const auto begin = Clock::now();
  const auto cuda = load::load_cuda("libcuda.so.1");
  if (!cuda) {
    std::fprintf(stderr, "%s\n", cuda.error().message().c_str());
    return 3;
  }
  if (!fine(cuda->cuInit(0), "cuInit")) return 3;
  const std::chrono::duration<double, std::nano> loaded = Clock::now() - begin;
  MoreFunctions more{};
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!resolve(library, "cuGetProcAddress_v2", more.get_proc_address) ||
      !resolve(library, "cuMemGetInfo_v2", more.memory_info)) {
    std::fprintf(stderr, "a driver of CUDA 12.0 (release 525) or newer is needed\n");
    return 3;
  }
  load::CUcontext context = nullptr;
  if (!fine(cuda->cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain") ||
      !fine(cuda->cuCtxSetCurrent(context), "cuCtxSetCurrent")) {
    return 1;
  }
  std::printf("load+cuInit %.1f\n", loaded.count());
  const bool measured = measure_all(*cuda, more);
  cuda->cuDevicePrimaryCtxRelease(0);
  return measured ? 0 : 1;
}

}  // namespace
}  // namespace tranche::test

int main() { return tranche::test::run(); }
