// A thread with a stack of so many bytes does all that a program does with a GPU, from the driver's
// first call on. What it needs beyond what the driver needs is the limiter's.
//   small_stack init|cuda|nvml BYTES

#include <pthread.h>

#include <cstring>

#include "cuda_calls.h"

extern "C" int cuDeviceTotalMem_v2(std::size_t* total, int device);

namespace {

void* begin(void*) {
  OK(cuInit(0));
  return nullptr;
}

void* use_cuda(void*) {
  const Cuda cuda;
  std::size_t free = 0;
  std::size_t total = 0;
  OK(cuDeviceTotalMem_v2(&total, 0));
  OK(cuMemGetInfo_v2(&free, &total));
  std::uint64_t address = 0;
  OK(cuMemAlloc_v2(&address, 16 * kMiB));
  OK(cuMemFree_v2(address));
  expect(cuMemAlloc_v2(&address, std::size_t{1} << 50U), kOutOfMemory, "too much");
  return nullptr;
}

void* ask_nvml(void*) {
  nvml_memory();
  return nullptr;
}

}  // namespace

int main(int, char** arguments) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  OK(pthread_attr_setstacksize(&attributes, std::strtoul(arguments[2], nullptr, 10)));
  pthread_t thread = 0;
  const auto is = [&](const char* what) { return std::strcmp(arguments[1], what) == 0; };
  void* (*body)(void*) = is("init") ? begin : is("cuda") ? use_cuda : ask_nvml;
  OK(pthread_create(&thread, &attributes, body, nullptr));
  OK(pthread_join(thread, nullptr));
}
