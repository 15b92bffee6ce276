// Prints what errno is after each of these calls.
#include <dlfcn.h>

#include <cerrno>

#include "cuda_calls.h"

#define SHOW(call)                                    \
  do {                                                \
    errno = 77;                                       \
    const bool is_fine = (call) == 0;                 \
    const int after = errno;                          \
    std::printf("%d %d %s\n", after, is_fine, #call); \
  } while (false)

int main() {
  void* context = nullptr;
  std::uint64_t address = 0;
  std::size_t free = 0;
  std::size_t total = 0;
  SHOW(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") == nullptr);
  SHOW(cuInit(0));
  SHOW(cuDevicePrimaryCtxRetain(&context, 0));
  SHOW(cuCtxSetCurrent(context));
  SHOW(cuMemAlloc_v2(&address, kMiB));
  SHOW(cuMemFree_v2(address));
  SHOW(cuMemGetInfo_v2(&free, &total));
  void* module = nullptr;
  void* kernel = nullptr;
  SHOW(cuModuleLoadData(&module, kSpin));
  SHOW(cuModuleGetFunction(&kernel, module, "spin"));
  for (int i = 0; i < 20; ++i) SHOW(Cuda::spin(kernel, 1'000'000));
  SHOW(cuCtxSynchronize());
}
