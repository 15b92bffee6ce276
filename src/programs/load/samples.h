#pragma once
// Measured times and their percentiles. Up to kKept times, all are kept and percentiles are exact.
// Beyond that an even sample is kept (reservoir sampling with a fixed seed, so the same times
// always give the same figures). Count, mean and maximum always cover all times.

#include <cstdint>
#include <random>
#include <vector>

#include "load/load.h"

namespace tranche::load {

class Samples {
 public:
  static constexpr std::size_t kKept = 1'000'000;

  void add(nanoseconds time);
  // Percentiles by nearest rank: the smallest sample such that the given percentage of samples do
  // not exceed it. All zero if there is no sample.
  Percentiles percentiles() const;

 private:
  std::vector<nanoseconds> kept_;
  std::uint64_t count_ = 0;
  double sum_ns_ = 0;
  nanoseconds max_{0};
  std::mt19937_64 random_{1};  // NOLINT: the same figures for the same times
};

}  // namespace tranche::load
