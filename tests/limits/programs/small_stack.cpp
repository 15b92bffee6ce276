// A thread of which so many bytes of stack are left does all that a program does with a GPU, from
// the driver's first call on. On a driver that takes next to none (stub_driver.cpp) that is what
// the limiter needs.
//   small_stack init|cuda|nvml LEFT

#include <alloca.h>
#include <pthread.h>

#include <cstring>

#include "cuda_calls.h"

extern "C" int cuDeviceTotalMem_v2(std::size_t* total, int device);

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

void ask_nvml() { nvml_memory(); }

struct Work {
  void (*begin)();
  std::size_t left;
};

// Uses up the stack but for what is to be left, and goes on there.
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
  const auto is = [&](const char* what) { return std::strcmp(arguments[1], what) == 0; };
  Work what{is("init")   ? begin
            : is("cuda") ? use_cuda
                         : ask_nvml,
            std::strtoul(arguments[2], nullptr, 10)};
  pthread_t thread = 0;
  OK(pthread_create(&thread, nullptr, work, &what));
  OK(pthread_join(thread, nullptr));
}
