#pragma once
// The table of the driver's functions (functions.def) with their addresses.

#include <span>
#include <string_view>

namespace tranche::sim::cuda {

struct Symbol {
  std::string_view name;  // its name in cuGetProcAddress
  void* address = nullptr;
  int version = 0;          // CUDA version that introduced this interface
  bool per_thread = false;  // stream 0 means the calling thread's own
};

// All interfaces of a function; empty: no such function.
std::span<const Symbol> find_symbols(std::string_view name);
// The newest CUDA version in the table.
int newest_version();

}  // namespace tranche::sim::cuda
