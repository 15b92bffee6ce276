#pragma once
// Tells the arbiter's flight recorder of allocations that failed: what was asked, and when, in this
// process's slot (limit/wire.h, Failures). Any thread; of two at the same time one is kept.

#include <cstdint>

#include "interpose/tenants.h"

namespace tranche::interpose {

// The limit refused `bytes`; 0: a context or code, whose size is not known before.
void note_refused(const Part& part, std::uint64_t bytes);
// Returns `status`, the driver's answer to an allocation of `bytes` within the limit.
int note_answer(const Part& part, std::uint64_t bytes, int status);

}  // namespace tranche::interpose
