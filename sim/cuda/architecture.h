#pragma once
// What follows from a compute capability: NVIDIA's published limits per multiprocessor. Cache size
// and bus width differ between models of one architecture; the values here are those of the common
// one.

#include <cstdint>

namespace tranche::sim::cuda {

struct ArchitectureLimits {
  std::uint32_t capability = 0;  // major * 10 + minor
  int threads_per_sm = 2048;
  int blocks_per_sm = 32;
  int shared_per_sm = 0;     // bytes
  int shared_per_block = 0;  // bytes, with opt-in
  int l2_bytes = 0;
  int bus_bits = 0;
  int slow_doubles = 2;  // single to double precision
};

// For the newest architecture not newer than this one.
ArchitectureLimits limits_of(std::uint32_t major, std::uint32_t minor);

inline constexpr int kThreadsPerBlock = 1024;
inline constexpr int kWarp = 32;
inline constexpr int kSharedPerBlock = 48 << 10;
inline constexpr int kReservedShared = 1 << 10;  // since 8.0, for every block
inline constexpr int kRegistersPerSm = 65536;
inline constexpr int kConstantBytes = 64 << 10;

}  // namespace tranche::sim::cuda
