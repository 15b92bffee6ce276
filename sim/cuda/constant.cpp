#include "sim/cuda/constant.h"

#include <atomic>

namespace tranche::sim::cuda {

unsigned long long constant_address(unsigned long long size) {
  static std::atomic<unsigned long long> next = 0x7000'0000'0000;
  constexpr unsigned long long kAlignment = 512;
  return next.fetch_add((size + kAlignment - 1) & ~(kAlignment - 1), std::memory_order_relaxed);
}

}  // namespace tranche::sim::cuda
