#include "interpose/unreported.h"

#include <atomic>

#include "interpose/blocks.h"
#include "interpose/driver.h"
#include "interpose/released.h"
#include "interpose/system.h"
#include "interpose/uncancelled.h"

namespace tranche::interpose {

using namespace limit;

namespace {

// The arbiter's future number for the part, as far as it can be predicted.
struct Expected {
  std::atomic<std::uint64_t> outside;
  std::atomic<std::uint64_t> until;     // ns; 0: nothing is expected
  std::atomic<std::uint32_t> readings;  // NVML's, when it was noted
};
Expected all[kMaxParts];
Lock noting;

bool is_limited(const Part& part) {
  return part.rule == Part::Rule::kTenant &&
         part.policy().memory_limit.load(std::memory_order_relaxed) != wire::kNoLimit;
}

bool is_awaited(const Part& part) {
  const Expected& expected = all[part.number];
  const std::uint64_t until = expected.until.load(std::memory_order_acquire);
  return until != 0 && now_ns() < until &&
         part.policy().readings.load(std::memory_order_relaxed) - expected.readings <
             kReadingsThatTell;
}

std::uint64_t outside(const Part& part) {
  return part.policy().outside.load(std::memory_order_relaxed);
}

// Under `noting`.
void expect(const Part& part, std::uint64_t bytes) {
  Expected& expected = all[part.number];
  expected.outside.store(bytes);
  expected.readings.store(part.policy().readings.load(std::memory_order_relaxed));
  expected.until.store(now_ns() + kToldLongest, std::memory_order_release);
}

std::uint64_t expected_outside(const Part& part) {
  return is_awaited(part) ? all[part.number].outside.load() : outside(part);
}

void note_taken(const Part& part, std::uint64_t bytes) {
  const UncancelledGuard guard(noting);
  const std::uint64_t before = expected_outside(part);
  expect(part, wire::add(before > outside(part) ? before : outside(part), bytes));
}

void note_freed(const Part& part, std::uint64_t bytes) {
  const UncancelledGuard guard(noting);
  const std::uint64_t before = expected_outside(part);
  expect(part, before - (bytes < before ? bytes : before));
}

// The memory that a context took at its creation.
struct OfContext {
  std::uint64_t bytes;
  unsigned part;  // its number
};
Blocks<OfContext> contexts;

std::uint64_t key_of(Context context) { return reinterpret_cast<std::uint64_t>(context); }

// 0: unknown. Queried in relaxed mode, so that it does not break a capture of the
// program.
std::uint64_t free_bytes() {
  size_t free = 0;
  size_t total = 0;
  int mode = kCaptureRelaxed;
  driver.cuThreadExchangeStreamCaptureMode(&mode);
  const int status = driver.cuMemGetInfo_v2(&free, &total);
  driver.cuThreadExchangeStreamCaptureMode(&mode);
  return status == kSuccess ? free : 0;
}

bool is_too_much(std::uint64_t held, std::uint64_t limit) {
  return held > limit && held - limit > limit / 32;
}

// What the arbiter reports as held, and what it will report.
struct Standing {
  bool is_over;
  bool may_be_over;
};
Standing standing_of(const Part& part) {
  const std::uint64_t limit = part.policy().memory_limit.load(std::memory_order_relaxed);
  const std::uint64_t held = part.ledger().held(part.device);
  const std::uint64_t expected = expected_outside(part);
  const std::uint64_t told = outside(part);
  const std::uint64_t more = expected > told ? expected - told : 0;
  return {is_too_much(held, limit), is_too_much(wire::add(held, more), limit)};
}

}  // namespace

FreeMemory::FreeMemory(const Part* part) {
  if (part == nullptr || !is_limited(*part)) return;
  before_ = free_bytes();
  if (before_ != 0) part_ = part;
}

std::int64_t FreeMemory::missing() const {
  const std::uint64_t after = part_ != nullptr ? free_bytes() : 0;
  return after != 0 ? static_cast<std::int64_t>(before_ - after) : 0;
}

void FreeMemory::note() const {
  const std::int64_t bytes = missing();
  if (bytes > 0) note_taken(*part_, static_cast<std::uint64_t>(bytes));
  if (bytes < 0) note_freed(*part_, static_cast<std::uint64_t>(-bytes));
}

void FreeMemory::note_context(Context context) const {
  const std::int64_t bytes = missing();
  if (bytes <= 0) return;
  note_taken(*part_, static_cast<std::uint64_t>(bytes));
  contexts.put(key_of(context), {static_cast<std::uint64_t>(bytes), part_->number});
}

void note_context_ended(Context context) {
  OfContext taken{};
  if (!contexts.take(key_of(context), taken)) return;
  note_freed(part_numbered(taken.part), taken.bytes);
}

bool is_over(const Part& part) {
  if (!is_limited(part)) return false;
  settle_released();
  for (WaitForNvml wait;; wait.take_turn()) {
    const bool is_told = !is_awaited(part) && !is_unreported(part);
    const bool is_decided = is_told || wait.is_over();
    const Standing standing = standing_of(part);
    if (is_decided || !standing.may_be_over) return standing.is_over;
  }
}

void forget_unreported() {
  for (Expected& expected : all) expected.until.store(0);
  contexts.reset();
  noting.reset();
}

}  // namespace tranche::interpose
