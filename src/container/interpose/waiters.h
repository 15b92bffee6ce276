#pragma once
// How many threads wait at the gate for one part of a device.
//
// A thread may leave the gate without a word: a signal handler's siglongjmp takes it out of there,
// and nothing of ours runs. So a thread that waits says so again in each round, and the count is of
// this round and the one before. Who left without a word is in neither after two rounds. A round is
// longer than the longest sleep of a thread that waits; one that sleeps longer all the same counts
// again when it next says so.
//
// One word holds both counts, so that whoever reads it never sees a thread twice or not at all
// while that passes from round to round. Any thread.

#include <atomic>
#include <cstdint>

namespace tranche::interpose {

class Waiters {
 public:
  using Round = std::uint32_t;

  constexpr Waiters() = default;

  // One more waits; the round that it counts in.
  Round enter() {
    Round round = 0;
    change([&](State& state) {
      ++state.now;
      round = state.round;
    });
    return round;
  }
  // The thread that counted in `round` still waits; the round that it counts in now.
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
  // In a child that has no other thread.
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
    std::uint32_t before;  // threads that last said so in the round before
    std::uint32_t now;
  };

  // A thread of an earlier round than these two is in neither count any more.
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
