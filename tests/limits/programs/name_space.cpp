// Loads itself as a library into a separate namespace (dlmopen), where it is bound to another copy
// of the driver, which the limiter does not hook.
#include <dlfcn.h>
#include <unistd.h>

#include "cuda_calls.h"

extern "C" void take_memory() {
  Cuda cuda;
  std::uint64_t address = 0;
  OK(cuMemAlloc_v2(&address, 512 * kMiB));
}

int main(int, char** arguments) {
  void* library = dlmopen(LM_ID_NEWLM, arguments[1], RTLD_NOW);
  if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  expect(library != nullptr, 1, "dlmopen");
  reinterpret_cast<void (*)()>(dlsym(library, "take_memory"))();
  std::puts("taken");
  std::fflush(stdout);
  char rest = 0;
  (void)!read(STDIN_FILENO, &rest, 1);
}
