#pragma once
// Counts the threads that wait at the gate for one part of a device.
//
// A thread may leave the gate without notice: a signal handler's siglongjmp takes it out of there,
// and none of our code runs. So a waiting thread checks in again in each round, and the count
// covers this round and the previous one. A thread that left without notice is in neither after two
// rounds. A round is longer than the longest sleep of a waiting thread; one that sleeps even longer
// counts again when it next checks in.
//
// One word holds both counts, so that a reader never sees a thread twice or not at all while it
// moves between rounds. Any thread.

#include <atomic>
#include <cstdint>

namespace tranche::interpose {

class Waiters {
 public:
  using Round = std::uint32_t;

  constexpr Waiters() = default;

  // One more thread waits; returns the round it is counted in.
  Round enter() {
    Round round = 0;
    change([&](State& state) {
      ++state.now;
      round = state.round;
    });
    return round;
  }
  // The thread counted in `round` still waits; returns the round it is counted in now.
  Round stay(Round round) {
    if (State{word_.load()}.round == round) return round;
    change([&](State& state) {
      drop(state, round);
      ++state.now;
      round = state.round;
    });
    return round;
  }
  void leave(Round round) {
    change([&](State& state) { drop(state, round); });
  }
  void next_round() {
    change([](State& state) {
      state.round = (state.round + 1) & kRounds;
      state.before = state.now;
      state.now = 0;
    });
  }

  std::uint32_t count() const {
    const State state{word_.load()};
    return state.before + state.now;
  }
  // In a child without other threads.
  void reset() { word_.store(0); }

 private:
  static constexpr std::uint32_t kThreads = (1U << 21U) - 1;
  static constexpr std::uint32_t kRounds = (1U << 22U) - 1;

  struct State {
    explicit State(std::uint64_t word)
        : round(static_cast<std::uint32_t>(word >> 42U)),
          before(static_cast<std::uint32_t>(word >> 21U) & kThreads),
          now(static_cast<std::uint32_t>(word) & kThreads) {}
    std::uint64_t word() const {
      return std::uint64_t{round} << 42U | std::uint64_t{before} << 21U | now;
    }

    Round round;
    std::uint32_t before;  // threads that last checked in in the previous round
    std::uint32_t now;
  };

  // A thread of an earlier round than these two is no longer in either count.
  static void drop(State& state, Round round) {
    if (round == state.round) {
      if (state.now != 0) --state.now;
    } else if (((round + 1) & kRounds) == state.round) {
      if (state.before != 0) --state.before;
    }
  }

  template <class Change>
  void change(Change change) {
    std::uint64_t seen = word_.load();
    for (;;) {
      State state(seen);
      change(state);
      if (word_.compare_exchange_weak(seen, state.word())) return;
    }
  }

  std::atomic<std::uint64_t> word_{0};
};

}  // namespace tranche::interpose
