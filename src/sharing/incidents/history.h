#pragma once
// The last minute of each tenant on each device: samples of what it holds and did, in rings of a
// fixed size. One clock of samples serves all tracks. Pure; not thread-safe.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "incidents/incident.h"

namespace tranche::incidents {

using Ns = std::chrono::nanoseconds;

// When samples were taken: monotonic times since any fixed moment, ascending.
class SampleTimes {
 public:
  // At the shortest interval between samples, 0.25 s, this is a minute.
  static constexpr std::size_t kSamples = 240;

  void add(Ns now) { times_[count_++ % kSamples] = now; }
  // The number of all samples so far; the last one is number count() - 1.
  std::uint64_t count() const { return count_; }
  // `number`: one of the last kSamples.
  Ns at(std::uint64_t number) const { return times_[number % kSamples]; }

 private:
  std::array<Ns, kSamples> times_{};
  std::uint64_t count_ = 0;
};

// A tenant on one device.
class Track {
 public:
  // `held` is what it holds now; the others are sums that never fall (one that does began anew).
  struct Totals {
    std::uint64_t held = 0;  // bytes
    std::uint64_t launches = 0;
    std::uint64_t gpu_ns = 0;
    std::uint64_t asked_ns = 0;
    std::uint64_t waited_ns = 0;
    std::uint64_t refused = 0;
    bool operator==(const Totals&) const = default;
  };

  // `is_new`: it held nothing before its first sample.
  explicit Track(bool is_new = false) : is_new_(is_new) {}

  // Records the sample that `times` has just counted. The first one only sets where sums begin.
  void add(const SampleTimes& times, const Totals& totals);
  const Totals& last() const { return last_; }

  // The seconds before `at`, oldest first; at most Incident::kWindow.
  std::vector<Second> seconds(const SampleTimes& times, Ns at) const;
  // How much more it holds at `at` than it once did in the window.
  Growth growth(const SampleTimes& times, Ns at) const;

 private:
  // Small, because there may be thousands of tracks: 16 bytes.
  struct Sample {
    std::uint32_t held = 0;  // in kHeldUnit
    std::uint32_t launches = 0;
    std::uint16_t gpu = 0;  // in kTimeUnit
    std::uint16_t asked = 0;
    std::uint16_t waited = 0;
    std::uint16_t refused = 0;
  };
  static constexpr std::uint64_t kHeldUnit = std::uint64_t{1} << 16U;  // bytes
  static constexpr std::uint64_t kTimeUnit = 100'000;                  // ns
  static constexpr std::uint64_t kUnitsPerMs = 10;

  // Calls handle(time, sample) with each sample of the window, oldest first.
  void each(const SampleTimes& times, Ns at, auto&& handle) const;

  std::array<Sample, SampleTimes::kSamples> samples_{};
  bool is_new_;
  std::uint64_t first_ = 0;  // number of its first sample
  std::uint64_t next_ = 0;   // number after its last one; 0: none
  Totals last_{};
};

// All rings together take at most this much memory: further tenants are not recorded.
inline constexpr std::size_t kMostRingBytes = std::size_t{8} << 20U;
inline constexpr std::size_t kMostTracks = kMostRingBytes / sizeof(Track);

}  // namespace tranche::incidents
