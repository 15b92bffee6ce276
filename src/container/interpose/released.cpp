#include "interpose/released.h"

#include "interpose/lock.h"
#include "interpose/system.h"
#include "interpose/uncancelled.h"

namespace tranche::interpose {

using namespace limit;

namespace {

struct Sum {
  std::uint64_t bytes;
  std::uint32_t units;  // as in the slot

  void add(const Sum& other) {
    bytes += other.bytes;
    units += other.units;
  }
};

// Memory released during a wait for NVML waits for the next turn: otherwise a process that keeps
// exporting and releasing would be charged for all of it.
struct Waiting {
  Sum now;
  std::uint32_t readings;  // of NVML, when its turn began
  std::uint64_t until;     // ns
  Sum next;
};
Waiting waiting_of[kMaxParts];
Lock letting_go;
std::atomic<bool> has_released;  // anything was ever released this way

std::atomic<std::uint32_t>& word_of(const Part& part) {
  return part.slot().work[part.device].released;
}

std::uint32_t readings_of(const Part& part) {
  return part.policy().readings.load(std::memory_order_relaxed);
}

void begin_turn(const Part& part, Waiting& waiting) {
  waiting.now = waiting.next;
  waiting.next = {};
  waiting.readings = readings_of(part);
  waiting.until = now_ns() + kToldLongest;
}

// The word first: an arbiter that reads in between counts the bytes as charged, as they were.
void settle_one(const Part& part, Waiting& waiting) {
  if (waiting.now.bytes == 0) return;
  const bool is_told = readings_of(part) - waiting.readings >= kReadingsThatTell;
  if (!is_told && now_ns() < waiting.until) return;
  word_of(part).fetch_sub(waiting.now.units, std::memory_order_seq_cst);
  give_back(part, waiting.now.bytes);
  begin_turn(part, waiting);
}

// Released by all of the tenant's processes.
std::uint64_t release_of(const Part& part) {
  const wire::UsageFile& usage = part.tenant->session.usage();
  const unsigned count = wire::slots_of(usage);
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < count; ++i) {
    const auto units = usage.slot[i].work[part.device].released.load(std::memory_order_relaxed);
    sum = wire::add(sum, wire::released_bytes(units));
  }
  return sum;
}

bool could_fit(const Part& part, std::uint64_t bytes) {
  const std::uint64_t limit = part.policy().memory_limit.load(std::memory_order_relaxed);
  const std::uint64_t held = part.ledger().held(part.device);
  const std::uint64_t most = release_of(part);
  const std::uint64_t least = held > most ? held - most : 0;
  return least <= limit && bytes <= limit - least;
}

}  // namespace

void give_back_once_reported(const Part& part, std::uint64_t bytes) {
  if (part.rule != Part::Rule::kTenant || bytes == 0) return;
  const Sum sum{bytes, wire::released_units(bytes)};
  {
    const UncancelledGuard guard(letting_go);
    word_of(part).fetch_add(sum.units, std::memory_order_seq_cst);
    has_released.store(true, std::memory_order_relaxed);
    Waiting& waiting = waiting_of[part.number];
    waiting.next.add(sum);
    if (waiting.now.bytes == 0) begin_turn(part, waiting);
  }
  tell_of_memory();
}

bool settle_released() {
  if (!has_released.load(std::memory_order_relaxed)) return false;
  bool is_left = false;
  const UncancelledGuard guard(letting_go);
  for (unsigned i = 0; i < kMaxParts; ++i) {
    if (waiting_of[i].now.bytes != 0) settle_one(part_numbered(i), waiting_of[i]);
    is_left |= waiting_of[i].now.bytes != 0;
  }
  return is_left;
}

bool is_unreported(const Part& part) {
  return part.rule == Part::Rule::kTenant && release_of(part) != 0;
}

bool wait_for_released(const Part& part, std::uint64_t bytes) {
  if (!is_unreported(part) || !could_fit(part, bytes)) return false;
  for (WaitForNvml wait; is_unreported(part) && !wait.is_over();) wait.take_turn();
  return true;
}

WaitForNvml::WaitForNvml() : began_(now_ns()) {}

bool WaitForNvml::is_over() const { return now_ns() - began_ >= kToldLongest; }

void WaitForNvml::take_turn() {
  if (now_ns() - asked_ > kAskNvmlEvery) {
    asked_ = now_ns();
    tell_of_memory();
  }
  settle_released();
  nap_ns(kToldNap);
}

void forget_released() {
  for (Waiting& waiting : waiting_of) waiting = {};
  has_released.store(false);
  letting_go.reset();
}

}  // namespace tranche::interpose
