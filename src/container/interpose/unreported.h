#pragma once
// Device memory that the driver takes for contexts and modules. Its size is unknown beforehand, and
// NVML reports it, through the arbiter, only about 0.3 s later. Until then forty contexts could be
// created where there is room for two.
//
// So the device's free memory is read before and after. Others may take memory at the same moment,
// so the difference is not charged. If it would be too much, the next call that takes such memory
// waits until NVML has reported the true value (three readings; at most kToldLongest if nothing
// reads it), which decides. The same applies to freed memory.

#include <cstdint>

#include "interpose/cuda.h"
#include "interpose/tenants.h"

namespace tranche::interpose {

// Used around a call that makes the current context's device take or free such memory.
class FreeMemory {
 public:
  // Reads nothing if `part` is nullptr or has no limit.
  explicit FreeMemory(const Part* part);
  // The memory taken since then counts until NVML has reported it.
  void note() const;
  // The same; `context` was created, and frees it when it ends.
  void note_context(Context context) const;

 private:
  std::int64_t missing() const;  // bytes; below 0: that much more is free

  const Part* part_ = nullptr;
  std::uint64_t before_ = 0;  // bytes; 0: unknown
};

void note_context_ended(Context context);

// Whether so much more is held than the part allows that not even memory that only NVML sees may be
// added. A thirty-second of the limit is tolerated, so that a program which has filled its part can
// still load its kernels. Waits for NVML if that would make a difference.
bool is_over(const Part& part);

void forget_unreported();

}  // namespace tranche::interpose
