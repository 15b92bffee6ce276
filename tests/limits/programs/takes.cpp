// Takes up to 4 GiB, and prints the MiB that it got.
#include "cuda_calls.h"

int main() {
  Cuda cuda;
  int held = 0;
  std::uint64_t address = 0;
  while (held < 4096 && cuMemAlloc_v2(&address, 64 * kMiB) == 0) held += 64;
  std::printf("%d\n", held);
}
