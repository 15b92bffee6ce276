#include "sim/cuda/symbols.h"

#include <algorithm>
#include <array>

// Every function by its symbol. Their types do not matter here.
extern "C" {
#define F(name, symbol, version) void symbol();
#define P(name, symbol, version) void symbol();
#include "sim/cuda/functions.def"
#undef F
#undef P
}

namespace tranche::sim::cuda {
namespace {

std::span<const Symbol> all() {
  // Sorted by name.
  static const auto kSymbols = std::to_array<Symbol>({
#define F(name, symbol, version) {#name, reinterpret_cast<void*>(&symbol), version, false},
#define P(name, symbol, version) {#name, reinterpret_cast<void*>(&symbol), version, true},
#include "sim/cuda/functions.def"
#undef F
#undef P
  });
  return kSymbols;
}

}  // namespace

std::span<const Symbol> find_symbols(std::string_view name) {
  const auto found = std::ranges::equal_range(all(), name, {}, &Symbol::name);
  return {found.begin(), found.end()};
}

int newest_version() {
  static const int kNewest = std::ranges::max_element(all(), {}, &Symbol::version)->version;
  return kNewest;
}

}  // namespace tranche::sim::cuda
