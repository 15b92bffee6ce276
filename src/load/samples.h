#pragma once
// Measured times and their percentiles. Up to kKept samples all of them are kept and percentiles
// are exact; of more, an even sample (reservoir sampling with a fixed seed, so that the same times
// give the same figures). Count, mean and maximum are always of all.

#include <cstdint>
#include <random>
#include <vector>

#include "load/load.h"

namespace tranche::load {

class Samples {
 public:
  static constexpr std::size_t kKept = 1'000'000;

  void add(nanoseconds time);
  // Nearest rank: the smallest sample that at least so many percent do not exceed. All zero
  // without a sample.
  Percentiles percentiles() const;

 private:
  std::vector<nanoseconds> kept_;
  std::uint64_t count_ = 0;
  double sum_ns_ = 0;
  nanoseconds max_{0};
  std::mt19937_64 random_{1};  // NOLINT: the same figures for the same times
};

}  // namespace tranche::load
