#pragma once
// The machine's time, and waiting for it.
//
// Wall time is CLOCK_MONOTONIC, shifted to the wall clock at the creation of the state.
// Virtual time (TRANCHE_SIM_CLOCK=virtual when the state is created) is a word in the
// state: it stands still while any thread works, and jumps when all wait for the GPU.
//
// "All" are the participating threads: those that have called the simulated CUDA library
// with a context, in all processes of the machine, until they end. A thread waiting in the
// library announces its deadline; the clock moves to the earliest of these, and only when
// no participating thread runs. A thread that has not called for kGrace of real time (it
// sleeps, or waits for another thread) does not block the others; it participates again
// with its next call. So programs whose threads only call the library, and take less than
// kGrace between two calls, see exact and repeatable times; others see possible but varying
// times.

#include <cstdint>
#include <list>
#include <mutex>

#include "sim/state/simulation.h"

namespace tranche::sim {

inline constexpr std::uint64_t kGrace = 200'000'000;  // ns of real time

// CLOCK_MONOTONIC in nanoseconds: for time limits of our own.
std::uint64_t real_ns();
// The machine's time, ns since 1970: the time base of everything in the state.
std::uint64_t now_ns(const State& state);

// Sets the time of a state under construction: it starts now.
void start_clock(State& state, ClockKind kind);

// One process's access to the machine's clock. Thread-safe; outlives its threads (leaked by the
// library).
class Clock {
 public:
  // `slot` is the caller's. `grace_ns`: of real time, see above.
  Clock(std::shared_ptr<Simulation> sim, const ProcessSlot& slot, std::uint64_t grace_ns = kGrace);

  std::uint64_t now() const { return now_ns(sim_->state()); }
  bool is_virtual() const;

  // The calling thread runs, and participates from now on. Only for virtual time.
  void take_part();
  // It no longer participates, until its next call.
  void leave();

  // A counter to read before checking the awaited condition; wait() then misses no wake().
  std::uint32_t turn() const;
  // Waits until the machine's time is `until_ns` (kNoWish: forever) or any thread calls wake(); may
  // end early. `real_limit_ns`: with wall time not longer than that.
  void wait(std::uint64_t until_ns, std::uint32_t seen_turn, std::uint64_t real_limit_ns);
  // All waiting threads of this process check again, and count as running until they have.
  void wake();

 private:
  struct Thread {
    std::uint64_t until_ns = kRuns;
    std::uint64_t since_ns = 0;  // real
  };
  struct Membership;
  friend struct Membership;

  Thread& own_thread();
  void remove(const Thread* thread);
  void publish();
  std::uint64_t move();
  void wait_virtual(std::uint64_t until_ns, std::uint32_t seen_turn);

  std::shared_ptr<Simulation> sim_;
  ClockWish& wish_;
  const std::uint64_t grace_ns_;
  Shared<std::uint32_t> turn_ = 0;
  std::mutex mutex_;
  std::list<Thread> threads_;
};

}  // namespace tranche::sim
