#include "sim/state/clock.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace tranche::sim {
namespace {

std::uint64_t read_clock(clockid_t clock) {
  timespec time = {};
  ::clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

bool is_virtual_time(const State& state) {
  return state.clock_kind == static_cast<std::uint32_t>(ClockKind::kVirtual);
}

// Half a change of the wishes is no harm: each is one word.
class ClockGuard {
 public:
  explicit ClockGuard(State& state) : state_(state) {
    if (::pthread_mutex_lock(&state_.clock_lock) == EOWNERDEAD) {
      ::pthread_mutex_consistent(&state_.clock_lock);
    }
  }
  ~ClockGuard() { ::pthread_mutex_unlock(&state_.clock_lock); }
  ClockGuard(const ClockGuard&) = delete;
  ClockGuard& operator=(const ClockGuard&) = delete;

 private:
  State& state_;
};

}  // namespace

std::uint64_t real_ns() { return read_clock(CLOCK_MONOTONIC); }

std::uint64_t now_ns(const State& state) {
  if (is_virtual_time(state)) return state.virtual_now_ns.load(std::memory_order_acquire);
  return real_ns() + static_cast<std::uint64_t>(state.clock_offset_ns);
}

void start_clock(State& state, ClockKind kind) {
  state.clock_kind = static_cast<std::uint32_t>(kind);
  const std::uint64_t now = read_clock(CLOCK_REALTIME);
  state.clock_offset_ns = static_cast<std::int64_t>(now - real_ns());
  state.virtual_now_ns.store(now);
}

// A thread's place at the clock, given back when the thread ends.
struct Clock::Membership {
  Clock* clock = nullptr;
  Thread* thread = nullptr;
  pid_t process = 0;  // a forked child has the place, but not the threads and maybe not the locks
  ~Membership() {
    if (thread != nullptr && process == ::getpid()) clock->remove(thread);
  }
};

Clock::Clock(std::shared_ptr<Simulation> sim, const ProcessSlot& slot, std::uint64_t grace_ns)
    : sim_(std::move(sim)),
      wish_(sim_->state().wishes[&slot - sim_->state().processes]),
      grace_ns_(grace_ns) {}

bool Clock::is_virtual() const { return is_virtual_time(sim_->state()); }

Clock::Thread& Clock::own_thread() {
  thread_local Membership membership;
  if (membership.clock != this || membership.thread == nullptr) {
    threads_.emplace_back();
    membership.clock = this;
    membership.thread = &threads_.back();
    membership.process = ::getpid();
  }
  return *membership.thread;
}

void Clock::remove(const Thread* thread) {
  const std::scoped_lock lock(mutex_);
  threads_.remove_if([&](const Thread& one) { return &one == thread; });
  publish();
  futex_bump(sim_->state().clock_futex);
}

void Clock::take_part() {
  if (!is_virtual()) return;
  const std::scoped_lock lock(mutex_);
  Thread& thread = own_thread();
  thread = {.until_ns = kRuns, .since_ns = real_ns()};
  publish();
}

void Clock::leave() {
  if (!is_virtual()) return;
  const std::scoped_lock lock(mutex_);
  own_thread() = {.until_ns = kNoWish, .since_ns = real_ns()};
  publish();
  futex_bump(sim_->state().clock_futex);
}

// What all threads together want. mutex_ is held.
void Clock::publish() {
  State& state = sim_->state();
  const ClockGuard guard(state);
  const std::uint64_t now = now_ns(state);
  const std::uint64_t real = real_ns();
  std::uint64_t earliest = kNoWish;
  std::uint64_t newest_runner = 0;
  for (const Thread& thread : threads_) {
    const bool runs = thread.until_ns == kRuns || thread.until_ns <= now;
    if (!runs) {
      earliest = std::min(earliest, thread.until_ns);
    } else if (real - std::min(real, thread.since_ns) < grace_ns_) {
      newest_runner = std::max(newest_runner, thread.since_ns);
    }
  }
  wish_.since_ns.store(newest_runner, std::memory_order_relaxed);
  wish_.until_ns.store(newest_runner != 0 ? kRuns : earliest, std::memory_order_release);
}

// Moves the clock if no thread is running. Returns how long, in real time, until the last running
// thread would be
// skipped; 0 if the clock moved.
std::uint64_t Clock::move() {
  State& state = sim_->state();
  const ClockGuard guard(state);
  const std::uint64_t now = now_ns(state);
  const std::uint64_t real = real_ns();
  std::uint64_t earliest = kNoWish;
  std::uint64_t patience = 0;
  for (unsigned i = 0; i < kMaxProcesses; ++i) {
    if (!sim_->is_taken(i)) continue;
    const std::uint64_t until = state.wishes[i].until_ns.load(std::memory_order_acquire);
    if (until == kRuns || until <= now) {
      const std::uint64_t since = state.wishes[i].since_ns.load(std::memory_order_relaxed);
      const std::uint64_t age = real - std::min(real, since);
      if (age < grace_ns_) patience = std::max(patience, grace_ns_ - age);
    } else {
      earliest = std::min(earliest, until);
    }
  }
  if (patience != 0) return patience;
  if (earliest == kNoWish) return grace_ns_;
  state.virtual_now_ns.store(earliest, std::memory_order_release);
  // Whom it concerns runs from now on, whenever it gets a processor.
  for (ClockWish& wish : state.wishes) {
    const std::uint64_t until = wish.until_ns.load(std::memory_order_relaxed);
    if (until == kRuns || until > earliest) continue;
    wish.since_ns.store(real, std::memory_order_relaxed);
    wish.until_ns.store(kRuns, std::memory_order_release);
  }
  futex_bump(state.clock_futex);
  return 0;
}

std::uint32_t Clock::turn() const {
  return (is_virtual() ? sim_->state().clock_futex : turn_).load(std::memory_order_acquire);
}

void Clock::wait(std::uint64_t until_ns, std::uint32_t seen_turn, std::uint64_t real_limit_ns) {
  if (is_virtual()) {
    wait_virtual(until_ns, seen_turn);
    return;
  }
  const std::uint64_t now = this->now();
  if (until_ns <= now) return;
  if (until_ns == kNoWish && real_limit_ns == kNoWish) {
    futex_wait(turn_, seen_turn, std::nullopt);
  } else {
    futex_wait(turn_, seen_turn, std::min(until_ns - now, real_limit_ns));
  }
}

void Clock::wait_virtual(std::uint64_t until_ns, std::uint32_t seen_turn) {
  const State& state = sim_->state();
  if (until_ns <= now()) return;
  Thread* own = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    // wake() may have been called between reading the turn and now.
    if (state.clock_futex.load(std::memory_order_acquire) != seen_turn) return;
    own = &own_thread();
    *own = {.until_ns = until_ns, .since_ns = real_ns()};
    publish();
  }
  for (;;) {
    const std::uint32_t seen = state.clock_futex.load(std::memory_order_acquire);
    std::optional<std::uint64_t> patience;  // nullopt: others move the clock
    {
      const std::scoped_lock lock(mutex_);
      if (own->until_ns == kRuns || own->until_ns <= now()) break;
      publish();
      if (until_ns != kNoWish) patience = move();
    }
    if (patience != 0) futex_wait(state.clock_futex, seen, patience);
  }
  const std::scoped_lock lock(mutex_);
  *own = {.until_ns = kRuns, .since_ns = real_ns()};
  publish();
}

void Clock::wake() {
  if (!is_virtual()) {
    futex_bump(turn_);
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t real = real_ns();
    for (Thread& thread : threads_) {
      if (thread.until_ns != kRuns) thread = {.until_ns = kRuns, .since_ns = real};
    }
    publish();
  }
  futex_bump(sim_->state().clock_futex);
}

}  // namespace tranche::sim
