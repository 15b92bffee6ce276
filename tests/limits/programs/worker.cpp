// Allocates and launches on two threads.
#include <thread>

#include "cuda_calls.h"

int main() {
  Cuda cuda;
  void* kernel = cuda.spin_kernel();
  const auto work = [&] {
    OK(cuCtxSetCurrent(cuda.context));
    for (int i = 0; i < 20; ++i) {
      std::uint64_t address = 0;
      OK(cuMemAlloc_v2(&address, kMiB));
      OK(Cuda::spin(kernel, 100'000));
      OK(cuMemFree_v2(address));
    }
    OK(cuCtxSynchronize());
  };
  std::thread other(work);
  work();
  other.join();
  std::puts("fine");
}
