#include "interpose/ledger.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "interpose/keep_errno.h"

namespace tranche::interpose {
namespace {

constexpr int kAttempts = 40;
constexpr int kHurried = 8;    // of them without sleeping
constexpr long kNap = 20'000;  // ns, times the attempt

void pause_before(int attempt) {
  const KeepErrno keep_errno;
  if (attempt < kHurried) {
    sched_yield();
    return;
  }
  const timespec nap{0, kNap * (attempt - kHurried + 1)};
  syscall(SYS_nanosleep, &nap, nullptr);  // the C library's is a cancellation point
}

bool fits(std::uint64_t held, std::uint64_t bytes, std::uint64_t limit) {
  return held <= limit && bytes <= limit - held;
}

}  // namespace

bool Ledger::charge(unsigned device, std::uint64_t bytes) {
  for (int i = 0; i < kAttempts; ++i) {
    // Read each time: the limit may be changed meanwhile.
    const std::uint64_t limit =
        policy_.devices[device].memory_limit.load(std::memory_order_relaxed);
    const Attempt result = attempt(device, bytes, limit);
    if (result == Attempt::kGranted) return true;
    if (result == Attempt::kNoRoom) break;
    pause_before(i);
  }
  own_.refused.fetch_add(1, std::memory_order_relaxed);
  return false;
}

Ledger::Attempt Ledger::attempt(unsigned device, std::uint64_t bytes, std::uint64_t limit) {
  using limit::wire::kNoLimit;
  auto& charged = own_.charged[device];
  if (limit == kNoLimit) {
    charged.fetch_add(bytes, std::memory_order_relaxed);
    return Attempt::kGranted;
  }
  if (bytes > limit) return Attempt::kNoRoom;
  charged.fetch_add(bytes, std::memory_order_seq_cst);
  if (held(device) <= limit) return Attempt::kGranted;
  charged.fetch_sub(bytes, std::memory_order_seq_cst);
  // Somebody else's attempt, or is there no room? An attempt does not stand still.
  const std::uint64_t before = held(device);
  sched_yield();
  const std::uint64_t after = held(device);
  const bool no_room = !fits(before, bytes, limit) && before == after;
  return no_room ? Attempt::kNoRoom : Attempt::kConflict;
}

void Ledger::release(unsigned device, std::uint64_t bytes) {
  own_.charged[device].fetch_sub(bytes, std::memory_order_seq_cst);
}

std::uint64_t Ledger::held(unsigned device) const {
  using limit::wire::kMaxProcesses;
  std::uint64_t sum = policy_.devices[device].outside.load(std::memory_order_relaxed);
  // The file is the tenant's to write: a wrong number of slots must not lead out of it.
  const unsigned slots = usage_.slots.load(std::memory_order_acquire);
  const unsigned count = slots < kMaxProcesses ? slots : kMaxProcesses;
  for (unsigned i = 0; i < count; ++i) {
    sum += usage_.slot[i].charged[device].load(std::memory_order_seq_cst);
  }
  return sum;
}

}  // namespace tranche::interpose
