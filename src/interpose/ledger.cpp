#include "interpose/ledger.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose/keep_errno.h"
#include "interpose/system.h"

namespace tranche::interpose {
namespace {

using namespace limit;

constexpr std::uint64_t kPatience = 100'000'000;  // ns that it tries
constexpr int kHurried = 8;                       // attempts without sleeping
constexpr int kLongest = 50;                      // naps grow up to here
constexpr std::uint64_t kNap = 20'000;            // ns, times the attempt

// The time is asked for once it sleeps.
class Patience {
 public:
  // false: it has tried long enough.
  bool pause() {
    if (attempt_++ < kHurried) {
      sched_yield();
      return true;
    }
    const std::uint64_t now = now_ns();
    if (since_ == 0) since_ = now;
    if (now - since_ > kPatience) return false;
    const int naps = attempt_ - kHurried;
    nap_ns(kNap * static_cast<std::uint64_t>(naps < kLongest ? naps : kLongest));
    return true;
  }

 private:
  int attempt_ = 0;
  std::uint64_t since_ = 0;
};

// What was forged stands, and so does what an ended process left: nobody need wait for them.
bool is_undecided(const wire::Slot& slot, std::uint64_t charged) {
  if (wire::is_forged(charged)) return false;
  const auto pid = static_cast<pid_t>(slot.inner_pid.load(std::memory_order_relaxed));
  const KeepErrno keep_errno;
  return pid <= 0 || syscall(SYS_kill, pid, 0) == 0 || errno != ESRCH;
}

bool fits(std::uint64_t held, std::uint64_t bytes, std::uint64_t limit) {
  return held <= limit && bytes <= limit - held;
}

}  // namespace

bool Ledger::charge(unsigned device, std::uint64_t bytes) {
  Patience patience;
  Attempt result = Attempt::kConflict;
  do {
    // Read each time: the limit may be changed meanwhile.
    const std::uint64_t limit =
        policy_.devices[device].memory_limit.load(std::memory_order_relaxed);
    result = attempt(device, bytes, limit);
    if (result == Attempt::kGranted) return true;
  } while (result == Attempt::kConflict && patience.pause());
  own_.refused.fetch_add(1, std::memory_order_relaxed);
  return false;
}

Ledger::Attempt Ledger::attempt(unsigned device, std::uint64_t bytes, std::uint64_t limit) {
  auto& charged = own_.charged[device];
  if (bytes > wire::kMostCharged || bytes > limit) return Attempt::kNoRoom;
  if (limit == wire::kNoLimit) {
    charged.fetch_add(bytes, std::memory_order_relaxed);
    return Attempt::kGranted;
  }
  if (!fits(look(device).bytes, bytes, limit)) {
    return is_full(device, bytes, limit) ? Attempt::kNoRoom : Attempt::kConflict;
  }
  charged.fetch_add(bytes + wire::kUndecided, std::memory_order_seq_cst);
  const bool is_granted = look(device).bytes <= limit;
  charged.fetch_sub(is_granted ? wire::kUndecided : bytes + wire::kUndecided,
                    std::memory_order_seq_cst);
  return is_granted ? Attempt::kGranted : Attempt::kConflict;
}

// Whether what was found stands: slots are read one after the other, so one look alone may be of no
// moment at all.
bool Ledger::is_full(unsigned device, std::uint64_t bytes, std::uint64_t limit) const {
  const Look before = look(device, true);
  sched_yield();
  const Look after = look(device, true);
  return !fits(after.bytes, bytes, limit) && before.print == after.print && !before.is_undecided &&
         !after.is_undecided;
}

void Ledger::charge_anyway(unsigned device, std::uint64_t bytes) {
  own_.charged[device].fetch_add(bytes, std::memory_order_seq_cst);
}

void Ledger::release(unsigned device, std::uint64_t bytes) {
  own_.charged[device].fetch_sub(bytes, std::memory_order_seq_cst);
}

std::uint64_t Ledger::held(unsigned device) const { return look(device).bytes; }

Ledger::Look Ledger::look(unsigned device, bool closely) const {
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15ULL;
  const std::uint64_t outside = policy_.devices[device].outside.load(std::memory_order_relaxed);
  Look sum{outside, outside, false};
  // The file is the tenant's to write: a wrong number of slots must not lead out of it.
  const unsigned slots = usage_.slots.load(std::memory_order_acquire);
  const unsigned count = slots < wire::kMaxProcesses ? slots : wire::kMaxProcesses;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t word = usage_.slot[i].charged[device].load(std::memory_order_seq_cst);
    const std::uint64_t bytes = wire::bytes_of(word);
    sum.bytes = wire::add(sum.bytes, bytes);
    if (!closely) continue;
    sum.print = sum.print * kMix + bytes;
    if (word >= wire::kUndecided) sum.is_undecided |= is_undecided(usage_.slot[i], word);
  }
  return sum;
}

}  // namespace tranche::interpose
