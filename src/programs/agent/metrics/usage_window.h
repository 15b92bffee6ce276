#pragma once
// What part of the last minute a counter of time has grown by. It remembers at most 32 of its
// values. A counter that has fallen has begun again from 0: what it has now is what it grew by.
//
// Used by one thread.

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

namespace tranche::agent {

class UsageWindow {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kLength{60};
  static constexpr std::chrono::seconds kShortest{1};

  // The counter as it is at `now`. Times ascend.
  void add(TimePoint now, std::chrono::nanoseconds counter);
  // 0 to 1, over the last kLength (and two seconds at most), or over all that is known if that is
  // shorter. nullopt: less than kShortest is known.
  std::optional<double> share() const;

 private:
  // Apart enough that a minute of them has its place.
  static constexpr std::chrono::seconds kApart{2};
  static constexpr std::size_t kMost = 32;
  struct Sample {
    TimePoint at;
    std::chrono::nanoseconds grown;  // since the first one
  };

  void keep();

  std::optional<std::chrono::nanoseconds> counter_{};
  Sample last_{};
  std::array<Sample, kMost> samples_{};  // a ring, from first_ on
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace tranche::agent
