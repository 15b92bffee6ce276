#include "sim/cuda/architecture.h"

#include <algorithm>
#include <array>

namespace tranche::sim::cuda {

ArchitectureLimits limits_of(std::uint32_t major, std::uint32_t minor) {
  constexpr int kKiB = 1 << 10;
  constexpr int kMiB = 1 << 20;
  static constexpr auto kTable = std::to_array<ArchitectureLimits>({
      {0, 2048, 32, 96 * kKiB, 48 * kKiB, 4 * kMiB, 384, 32},
      {70, 2048, 32, 96 * kKiB, 96 * kKiB, 6 * kMiB, 4096, 2},
      {75, 1024, 16, 64 * kKiB, 64 * kKiB, 4 * kMiB, 256, 32},
      {80, 2048, 32, 164 * kKiB, 163 * kKiB, 40 * kMiB, 5120, 2},
      {86, 1536, 16, 100 * kKiB, 99 * kKiB, 6 * kMiB, 384, 64},
      {89, 1536, 24, 100 * kKiB, 99 * kKiB, 96 * kMiB, 384, 64},
      {90, 2048, 32, 228 * kKiB, 227 * kKiB, 50 * kMiB, 5120, 2},
      {100, 2048, 32, 228 * kKiB, 227 * kKiB, 126 * kMiB, 8192, 2},
      {120, 1536, 24, 100 * kKiB, 99 * kKiB, 96 * kMiB, 512, 64},
  });
  const std::uint32_t capability = major * 10 + minor;
  const auto next =
      std::ranges::upper_bound(kTable, capability, {}, &ArchitectureLimits::capability);
  ArchitectureLimits limits = *std::prev(next);
  limits.capability = capability;
  return limits;
}

}  // namespace tranche::sim::cuda
