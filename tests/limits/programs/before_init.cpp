// Calls every hooked function with zeros before cuInit and nvmlInit. One line for each: its symbol,
// and its status or "-" if it does not exist.
#include <string_view>

#include "cuda_calls.h"

using CUdeviceptr = std::uint64_t;
struct Location {
  int type;
  int id;
};
using std::size_t;

#define WEAK(symbol, parameters) extern "C" __attribute__((weak)) int symbol parameters;
#define OWN(symbol, name, version, twin, parameters) WEAK(symbol, parameters)
#define GATED(symbol, name, version, twin, stream, parameters, arguments) WEAK(symbol, parameters)
#define LOADS(symbol, name, version, twin, parameters, arguments) WEAK(symbol, parameters)
#define HOLDS(symbol, name, version, twin, stream, parameters, arguments) WEAK(symbol, parameters)
#define LATER(symbol, name, version, twin, parameters, arguments) WEAK(symbol, parameters)
#define NVML(symbol, parameters) WEAK(symbol, parameters)
namespace hooked {
#include "interpose/nvml.def"
#include "interpose/symbols.def"
}  // namespace hooked
#undef WEAK

template <class... A>
void call(const char* symbol, int (*function)(A...)) {
  if (function == nullptr) {
    std::printf("%s -\n", symbol);
  } else {
    std::printf("%s %d\n", symbol, function(A{}...));
  }
  std::fflush(stdout);
}

int main() {
#define WEAK(symbol, parameters) \
  if (#symbol != std::string_view("cuInit")) call(#symbol, &hooked::symbol);
#include "interpose/nvml.def"
#include "interpose/symbols.def"
}
