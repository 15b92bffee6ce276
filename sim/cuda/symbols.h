#pragma once
// The table of the driver's functions (functions.def) with their addresses.

#include <span>
#include <string_view>

namespace tranche::sim::cuda {

struct Symbol {
  std::string_view name;  // as cuGetProcAddress knows it
  void* address = nullptr;
  int version = 0;          // CUDA version that brought this interface
  bool per_thread = false;  // stream 0 is the calling thread's own
};

// All interfaces of a function; empty: no such function.
std::span<const Symbol> find_symbols(std::string_view name);
// The newest CUDA version that the table knows.
int newest_version();

}  // namespace tranche::sim::cuda
