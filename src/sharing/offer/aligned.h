#pragma once
// Decides which whole GPUs work well together. It works on numbers only: GPUs are 0 to n - 1 in the
// order of their index, and a matrix scores how well each pair is connected. Private to offer/.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/machine.h"

namespace tranche::offer {

// Scores the connection between two GPUs, with NVIDIA's scores. P2P level: across CPUs 10, same CPU
// 20, host bridge 30, several switches 40, one switch 50, same board 60, unknown 0. Each NVLink
// adds 100.
int link_score(const gpu::Link& link);

// Scores of all pairs; symmetric, 0 on the diagonal.
class Scores {
 public:
  explicit Scores(std::size_t gpus) : size_(gpus), values_(gpus * gpus) {}

  std::size_t size() const { return size_; }
  int at(std::size_t a, std::size_t b) const { return values_[a * size_ + b]; }
  void set(std::size_t a, std::size_t b, int score) {
    values_[a * size_ + b] = score;
    values_[b * size_ + a] = score;
  }

 private:
  std::size_t size_;
  std::vector<int> values_;
};

struct AlignedSet {
  std::vector<std::size_t> gpus;  // ascending
  int score = 0;                  // sum over its pairs
  std::string rule;               // how it was found, as text for people
};

// NVIDIA's partition rule applies up to this many free GPUs.
inline constexpr std::size_t kPartitionLimit = 8;
// Above kPartitionLimit, all sets are tried if that takes at most this many steps: about 1 ms. It
// is enough for any size out of 16 GPUs.
inline constexpr std::size_t kMaxSteps = 400'000;

// The best `size` GPUs that contain `required`; nullopt when there are none.
//
// Up to 8 GPUs: the search looks at all ways to split them into sets of `size` (the last set may be
// smaller). It takes the split with the highest total, and from that split the best full set that
// contains `required`. So the GPUs that are left stay well connected too, and a Pod may get a set
// that is not the very best. Above 8 GPUs: the best set. Where trying all sets takes too long, sets
// grow greedily from up to 64 seeds, and up to 16 swaps improve each; the result need not be the
// best. Ties go to the lowest indices.
std::optional<AlignedSet> best_aligned(const Scores& scores, std::span<const std::size_t> required,
                                       std::size_t size);

}  // namespace tranche::offer
