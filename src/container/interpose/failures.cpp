#include "interpose/failures.h"

#include "interpose/cuda.h"
#include "interpose/system.h"

namespace tranche::interpose {

namespace wire = limit::wire;

void note_refused(const Part& part, std::uint64_t bytes) {
  if (part.rule != Part::Rule::kTenant) return;
  auto& failures = part.slot().failures;
  failures.refused_asked.store(wire::asked_word(part.device, bytes), std::memory_order_relaxed);
  failures.refused_held.store(part.ledger().held(part.device), std::memory_order_relaxed);
  failures.refused_at.store(now_ns(), std::memory_order_release);
}

int note_answer(const Part& part, std::uint64_t bytes, int status) {
  if (status != kOutOfMemory || part.rule != Part::Rule::kTenant) return status;
  auto& failures = part.slot().failures;
  failures.driver_asked.store(wire::asked_word(part.device, bytes), std::memory_order_relaxed);
  failures.driver_refused.fetch_add(1, std::memory_order_relaxed);
  failures.driver_at.store(now_ns(), std::memory_order_release);
  return status;
}

}  // namespace tranche::interpose
