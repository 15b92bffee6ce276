#pragma once
// Shared by the tests of the gate: what the tenant's processes report to the arbiter, a kernel of a
// fixed length, and the tolerances.

#include <sys/mman.h>

#include <cstdint>
#include <new>

#include "limits/limited/container.h"

namespace tranche::test::gate_test {

using sim::test::World;

inline constexpr std::uint64_t kMs = 1'000'000;

inline constexpr const char* kFixed = R"(
.version 7.0
.target sm_70
.address_size 64
// tranche-sim: duration-ns = 1000000
.visible .entry fixed() { ret; }
)";

// What the only tenant's processes report.
struct Seen {
  std::uint64_t measured;
  std::uint64_t spent;
  std::uint64_t longest;
  std::uint32_t waiting;  // threads at the gate
};
Seen seen();

// For this process and its children; freed with the last of them.
template <class T>
T* shared() {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) T();
}

// A short launch counts with its expected time if its thread is delayed for more than 1 ms within a
// batch, which was closed meanwhile. On a busy machine that happens to a few launches of a test.
inline constexpr std::uint64_t kHeldUp = 50 * kMs;

// What a tenant may have saved when it is first seen waiting: less than this number of launches of
// 1 ms.
inline constexpr int kSaved = 20;

inline limit::TenantLimits counted(const World& world) {
  auto limits = part_of(world, kGiB);
  limits.enforcement = Enforcement::kAccount;
  return limits;
}

// The parameters of a graph's kernel node of one block.
sim::cuda::abi::CUDA_KERNEL_NODE_PARAMS_v2 one_block(sim::cuda::abi::CUfunction function,
                                                     void** parameters);

}  // namespace tranche::test::gate_test
