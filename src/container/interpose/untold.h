#pragma once
// Device memory that the driver takes for contexts and modules. Nobody knows beforehand how much
// that is, and NVML tells of it, through the arbiter, only some 0.3 s later. Until then forty
// contexts could be made where there is room for two.
//
// So the device's free memory is looked at before and after. Others may take memory at the same
// moment, so what went missing is no charge: where it would be too much, the next call that takes
// such memory waits until NVML has told the truth (three readings; at most kToldLongest, should
// nobody read), and that decides. What was freed is waited for in the same way.

#include <cstdint>

#include "interpose/cuda.h"
#include "interpose/tenants.h"

namespace tranche::interpose {

// Around a call by which the current context's device takes or gives back such memory.
class FreeMemory {
 public:
  // Looks at nothing where `part` has no limit, or nullptr.
  explicit FreeMemory(const Part* part);
  // What went missing since counts until NVML has told.
  void note() const;
  // The same; `context` was made, and takes it along when it ends.
  void note_context(Context context) const;

 private:
  std::int64_t missing() const;  // bytes; below 0: so much more is there

  const Part* part_ = nullptr;
  std::uint64_t before_ = 0;  // bytes; 0: it cannot be told
};

void note_context_ended(Context context);

// Whether so much more is held than the part allows that not even what only NVML sees may be added.
// A thirty-second of the limit is let go, so that a program which has filled its part can still
// load its kernels. Waits for NVML where it would make a difference.
bool is_over(const Part& part);

void forget_untold();

}  // namespace tranche::interpose
