#pragma once
// What is charged for one allocation.

#include <cstdint>

#include "interpose/cuda.h"
#include "interpose/tenants.h"

namespace tranche::interpose {

// As small as it can be: at fifty thousand blocks the cache is what a lookup costs.
class Held {
 public:
  Held() = default;
  // `part` is a tenant's. `context`: whose end gives it back; nullptr: it outlives contexts.
  Held(const Part& part, std::uint64_t bytes, Context context)
      : bytes_(bytes & kMost), part_(part.number & 0xFFU), context_(context) {}

  bool is_any() const { return bytes_ != 0; }
  const Part& part() const { return part_numbered(part_); }
  std::uint64_t bytes() const { return bytes_; }
  void set_bytes(std::uint64_t bytes) { bytes_ = bytes & kMost; }
  Context context() const { return context_; }

 private:
  static constexpr std::uint64_t kMost = (std::uint64_t{1} << 56U) - 1;
  static_assert(kMaxParts <= 256);

  std::uint64_t bytes_ : 56 = 0;
  std::uint64_t part_ : 8 = 0;
  Context context_ = nullptr;
};
static_assert(sizeof(Held) == 16);

}  // namespace tranche::interpose
