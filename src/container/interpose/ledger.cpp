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

constexpr std::uint64_t kPatience = 100'000'000;  // ns of trying
constexpr int kHurried = 8;                       // attempts without sleeping
constexpr int kLongest = 50;                      // naps grow up to this factor
constexpr std::uint64_t kNap = 20'000;            // ns, times the attempt

// The time is first read when it sleeps.
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

// The calling thread's place in this process's slots; threads without one count in the word. Not
// released when the thread ends.
unsigned own_place() {
  static std::atomic<unsigned> taken;
  // in the thread's static block: the library is loaded from the start
  static thread_local unsigned place __attribute__((tls_model("initial-exec")));  // and one
  if (place == 0) {
    const unsigned next = taken.load(std::memory_order_relaxed);
    place = (next < wire::kDeciders ? taken.fetch_add(1, std::memory_order_relaxed) : next) + 1;
  }
  return place - 1;
}

// The time in which a charge of the calling thread may be withdrawn.
class Deciding {
 public:
  explicit Deciding(wire::Slot& slot)
      : byte_(own_place() < wire::kDeciders ? &slot.deciding[own_place()] : nullptr),
        before_(byte_ != nullptr ? byte_->load(std::memory_order_relaxed) & 0xFEU : 0) {
    tell(before_ + 1U);
  }
  // What the charge counts in addition to its bytes.
  std::uint64_t mark() const { return byte_ != nullptr ? 0 : wire::kUndecided; }
  // It is over: the charge is in the word, or withdrawn.
  void granted() const { tell(before_); }
  void withdrawn() const { tell(before_ + 2U); }

 private:
  void tell(unsigned value) const {
    if (byte_ != nullptr) byte_->store(value & 0xFFU, std::memory_order_release);
  }

  wire::Byte* byte_;  // nullptr: it has no place
  unsigned before_;
};

// A dead process's values are final: no need to wait for it.
bool is_alive(const wire::Slot& slot) {
  const auto pid = static_cast<pid_t>(slot.inner_pid.load(std::memory_order_relaxed));
  const KeepErrno keep_errno;
  return pid <= 0 || syscall(SYS_kill, pid, 0) == 0 || errno != ESRCH;
}

bool fits(std::uint64_t held, std::uint64_t bytes, std::uint64_t limit) {
  return held <= limit && bytes <= limit - held;
}

}  // namespace

Ledger::Attempt Ledger::attempt(unsigned device, std::uint64_t bytes) {
  // Read each time: the limit may be changed meanwhile.
  const std::uint64_t limit = policy_.devices[device].memory_limit.load(std::memory_order_relaxed);
  auto& charged = own_.charged[device];
  if (bytes > wire::kMostCharged || bytes > limit) return Attempt::kNoRoom;
  if (limit == wire::kNoLimit) {
    charged.fetch_add(bytes, std::memory_order_relaxed);
    return Attempt::kGranted;
  }
  if (!fits(held(device), bytes, limit)) {
    return is_full(device, bytes, limit) ? Attempt::kNoRoom : Attempt::kConflict;
  }
  const Deciding deciding(own_);
  // The value at that moment, not the present one: a later sibling thread sees this charge, and
  // reading a word again that was just changed takes long.
  const std::uint64_t before =
      charged.fetch_add(bytes + deciding.mark(), std::memory_order_seq_cst);
  const std::uint64_t own = wire::bytes_of(before + bytes);
  const bool is_granted = wire::add(held_by_others(device), own) <= limit;
  const std::uint64_t back = deciding.mark() + (is_granted ? 0 : bytes);
  if (back != 0) charged.fetch_sub(back, std::memory_order_seq_cst);
  is_granted ? deciding.granted() : deciding.withdrawn();
  return is_granted ? Attempt::kGranted : Attempt::kConflict;
}

bool Ledger::charge(unsigned device, std::uint64_t bytes) {
  const Attempt first = attempt(device, bytes);
  return first == Attempt::kGranted || go_on(device, bytes, first);
}

// After a first attempt that was not granted.
bool Ledger::go_on(unsigned device, std::uint64_t bytes, Attempt result) {
  Patience patience;
  while (result == Attempt::kConflict && patience.pause()) result = attempt(device, bytes);
  if (result == Attempt::kGranted) return true;
  own_.refused.fetch_add(1, std::memory_order_relaxed);
  return false;
}

// Whether a finding is stable: slots are read one after the other, so a single pass may match no
// moment at all.
bool Ledger::is_full(unsigned device, std::uint64_t bytes, std::uint64_t limit) const {
  const Look before = look(device);
  sched_yield();
  const Look after = look(device);
  return !fits(after.bytes, bytes, limit) && before.print == after.print && !before.is_undecided &&
         !after.is_undecided;
}

bool Ledger::has_room(unsigned device, std::uint64_t bytes) const {
  const std::uint64_t limit = policy_.devices[device].memory_limit.load(std::memory_order_relaxed);
  return fits(held(device), bytes, limit);
}

void Ledger::charge_anyway(unsigned device, std::uint64_t bytes) {
  own_.charged[device].fetch_add(bytes, std::memory_order_seq_cst);
}

std::uint64_t Ledger::held(unsigned device) const {
  const std::uint64_t own = own_.charged[device].load(std::memory_order_seq_cst);
  return wire::add(held_by_others(device), wire::bytes_of(own));
}

std::uint64_t Ledger::held_by_others(unsigned device) const {
  std::uint64_t sum = policy_.devices[device].outside.load(std::memory_order_relaxed);
  const unsigned count = wire::slots_of(usage_);
  for (unsigned i = 0; i < count; ++i) {
    const wire::Slot& slot = usage_.slot[i];
    if (&slot == &own_) continue;
    const std::uint64_t word = slot.charged[device].load(std::memory_order_seq_cst);
    sum = wire::add(sum, wire::bytes_of(word));
  }
  return sum;
}

Ledger::Look Ledger::look(unsigned device) const {
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15ULL;
  const std::uint64_t outside = policy_.devices[device].outside.load(std::memory_order_relaxed);
  Look sum{outside, outside, false};
  const unsigned count = wire::slots_of(usage_);
  for (unsigned i = 0; i < count; ++i) {
    const wire::Slot& slot = usage_.slot[i];
    const std::uint64_t word = slot.charged[device].load(std::memory_order_seq_cst);
    const std::uint64_t bytes = wire::bytes_of(word);
    bool is_undecided = word >= wire::kUndecided;
    sum.bytes = wire::add(sum.bytes, bytes);
    sum.print = sum.print * kMix + bytes;
    // After the word: a charge in it is still marked here, or was marked as withdrawn.
    for (const wire::Byte& deciding : slot.deciding) {
      const unsigned value = deciding.load(std::memory_order_acquire);
      sum.print = sum.print * kMix + value;
      is_undecided |= value % 2 != 0;
    }
    // Forged values stay too.
    if (is_undecided && !wire::is_forged(word)) sum.is_undecided |= is_alive(slot);
  }
  return sum;
}

}  // namespace tranche::interpose
