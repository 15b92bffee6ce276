#pragma once
// The charge of one allocation.

#include <cstdint>

#include "interpose/cuda.h"
#include "interpose/tenants.h"

namespace tranche::interpose {

// As small as possible: at fifty thousand blocks the cache determines the cost of a lookup.
class Held {
 public:
  Held() = default;
  // `part` must be a tenant's. `context`: the charge is released when it ends; nullptr: it outlives
  // contexts.
  Held(const Part& part, std::uint64_t bytes, Context context)
      : word_((bytes & kMost) | std::uint64_t{part.number} << kBytes), context_(context) {}

  bool is_any() const { return bytes() != 0; }
  const Part& part() const { return part_numbered(static_cast<unsigned>(word_ >> kBytes)); }
  std::uint64_t bytes() const { return word_ & kMost; }
  void set_bytes(std::uint64_t bytes) { word_ = (word_ & ~kMost) | (bytes & kMost); }
  Context context() const { return context_; }

 private:
  static constexpr unsigned kBytes = 56;  // bits; the part's number is above
  static constexpr std::uint64_t kMost = (std::uint64_t{1} << kBytes) - 1;
  static_assert(kMaxParts <= 256);

  // One word and no bit fields: written byte by byte it would have to reach the cache before it can
  // be read as a whole.
  std::uint64_t word_ = 0;
  Context context_ = nullptr;
};
static_assert(sizeof(Held) == 16);

}  // namespace tranche::interpose
