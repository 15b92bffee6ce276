#pragma once
// How long to wait between attempts: `first`, then twice as long each time, up to `longest`.

#include <algorithm>
#include <chrono>

namespace tranche {

struct Backoff {
  using Wait = std::chrono::milliseconds;

  Wait first = std::chrono::seconds(1);
  Wait longest = std::chrono::seconds(30);
  Wait upcoming{0};  // 0: `first`

  // The wait after the next failure.
  constexpr Wait wait() const { return upcoming == Wait{0} ? first : upcoming; }
  // Call after a failure: returns how long to wait now. The wait after that will be longer.
  constexpr Wait next() {
    const Wait now = wait();
    upcoming = std::min(now * 2, longest);
    return now;
  }
  // Call after a success.
  constexpr void reset() { upcoming = Wait{0}; }
  // Whether no attempt has failed since the last success.
  constexpr bool is_fresh() const { return wait() <= first; }
};

}  // namespace tranche
