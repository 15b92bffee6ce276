#pragma once
// The policy's time: a point or a stretch on CLOCK_MONOTONIC, or on the virtual clock of a test.

#include <chrono>
#include <cstdint>

namespace tranche::limit {

using Ns = std::chrono::nanoseconds;

// From begin to end, excluding end.
struct Stretch {
  Ns begin{0};
  Ns end{0};

  Ns length() const { return end > begin ? end - begin : Ns{0}; }
  bool operator==(const Stretch&) const = default;
};

// A tenant on one GPU; the arbiter numbers them.
struct TenantId {
  std::uint32_t value = 0;
  auto operator<=>(const TenantId&) const = default;
};

}  // namespace tranche::limit
