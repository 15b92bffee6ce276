// A thread with LEFT bytes of stack does all that a program does with a GPU, from the driver's
// first call on. With a driver that takes next to none (stub_driver.cpp) that is what the limiter
// needs.
//   small_stack init|cuda|kernel|nvml|lists LEFT

#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "cuda_calls.h"

extern "C" {
int cuDeviceTotalMem_v2(std::size_t* total, int device);
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void* processes);
int nvmlDeviceGetProcessUtilization(void* device, void* samples, unsigned* count,
                                    unsigned long long since);
int nvmlDeviceGetUtilizationRates(void* device, unsigned* rates);
}

namespace {

void begin() { OK(cuInit(0)); }

void use_cuda() {
  const Cuda cuda;
  std::size_t free = 0;
  std::size_t total = 0;
  OK(cuDeviceTotalMem_v2(&total, 0));
  OK(cuMemGetInfo_v2(&free, &total));
  std::uint64_t address = 0;
  OK(cuMemAlloc_v2(&address, 16 * kMiB));
  OK(cuMemFree_v2(address));
  expect(cuMemAlloc_v2(&address, std::size_t{1} << 50U), kOutOfMemory, "too much");
}

void run_kernels() {
  Cuda cuda;
  void* kernel = cuda.spin_kernel();
  for (int i = 0; i < 100; ++i) OK(Cuda::spin(kernel, 1000));
  OK(cuCtxSynchronize());
  expect(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") == nullptr, 0, "dlsym");
}

void ask_nvml() { nvml_memory(); }

void ask_for_lists() {
  static char room[1 << 16];  // not of the thread's stack
  nvml_memory();
  void* device = nullptr;
  OK(nvmlDeviceGetHandleByIndex_v2(0, &device));
  unsigned count = 100;
  OK(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, room));
  count = 100;
  OK(nvmlDeviceGetProcessUtilization(device, room, &count, 0));
  unsigned rates[2] = {};
  OK(nvmlDeviceGetUtilizationRates(device, rates));
}

struct Kind {
  const char* name;
  void (*begin)();
};
constexpr Kind kKinds[] = {{"init", begin},
                           {"cuda", use_cuda},
                           {"kernel", run_kernels},
                           {"nvml", ask_nvml},
                           {"lists", ask_for_lists}};

struct Work {
  void (*begin)();
  std::size_t left;
};

// Uses up the stack except for LEFT bytes, and continues there.
void* work(void* argument) {
  const Work& work = *static_cast<const Work*>(argument);
  pthread_attr_t attributes;
  void* lowest = nullptr;
  std::size_t size = 0;
  OK(pthread_getattr_np(pthread_self(), &attributes));
  OK(pthread_attr_getstack(&attributes, &lowest, &size));
  pthread_attr_destroy(&attributes);
  const auto here = static_cast<std::size_t>(static_cast<char*>(__builtin_frame_address(0)) -
                                             static_cast<char*>(lowest));
  static volatile char* used;
  used = static_cast<char*>(alloca(here - work.left));
  used[0] = 1;
  work.begin();
  return nullptr;
}

}  // namespace

int main(int, char** arguments) {
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& one) {
    return std::strcmp(arguments[1], one.name) == 0;
  });
  Work what{kind->begin, std::strtoul(arguments[2], nullptr, 10)};
  pthread_t thread = 0;
  OK(pthread_create(&thread, nullptr, work, &what));
  OK(pthread_join(thread, nullptr));
}
