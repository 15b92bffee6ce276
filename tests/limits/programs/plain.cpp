// Has nothing to do with GPUs.
#include <dlfcn.h>

#include <cstdio>
#include <thread>
#include <vector>

int main() {
  std::vector<int> numbers(1000, 1);
  std::thread([&] { numbers.clear(); }).join();
  std::puts(dlsym(RTLD_DEFAULT, "malloc") != nullptr && numbers.empty() ? "fine" : "wrong");
}
