#include "offer/aligned.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace tranche::offer {
namespace {

using Mask = std::uint32_t;
constexpr Mask bit(std::size_t index) { return Mask{1} << index; }

// NVIDIA's partition rule, by enumeration. Blanks fill up the last set: elements from `gpus` on
// that connect to nothing.
class Partitions {
 public:
  Partitions(const Scores& scores, Mask required, std::size_t size)
      : scores_(scores),
        required_(required),
        gpus_(scores.size()),
        padded_((gpus_ + size - 1) / size * size),
        size_(size) {}

  std::optional<AlignedSet> run() {
    split(0, 0);
    if (best_.empty()) return std::nullopt;
    const Mask set = best_set();
    AlignedSet out;
    for (std::size_t i = 0; i < gpus_; ++i) {
      if (set & bit(i)) out.gpus.push_back(i);
    }
    out.score = score(set);
    out.rule =
        fmt::format("the best set in the best split of {} free GPUs into sets of {} (total {})",
                    gpus_, size_, best_total_);
    return out;
  }

 private:
  int score(Mask set) const {
    int sum = 0;
    for (std::size_t a = 0; a < gpus_; ++a) {
      for (std::size_t b = a + 1; (set & bit(a)) && b < gpus_; ++b) {
        if (set & bit(b)) sum += scores_.at(a, b);
      }
    }
    return sum;
  }

  // Whether a set may be the answer: it has no blanks and contains `required`.
  bool answers(Mask set) const { return set < bit(gpus_) && (set & required_) == required_; }

  // Puts the elements outside `used` into sets, the first set around the lowest index. Visits the
  // ways in lexicographic order, so the first of equals has the lowest indices.
  void split(Mask used, int total) {
    if (used == bit(padded_) - 1) {
      if (std::ranges::none_of(sets_, [this](Mask set) { return answers(set); })) return;
      if (best_.empty() || total > best_total_) {
        best_ = sets_;
        best_total_ = total;
      }
      return;
    }
    std::size_t lowest = 0;
    while (used & bit(lowest)) ++lowest;
    fill(used, bit(lowest), lowest + 1, size_ - 1, total);
  }

  void fill(Mask used, Mask set, std::size_t next, std::size_t missing, int total) {
    if (missing == 0) {
      sets_.push_back(set);
      split(used | set, total + score(set));
      sets_.pop_back();
      return;
    }
    for (std::size_t i = next; i < padded_; ++i) {
      if (used & bit(i)) continue;
      fill(used, set | bit(i), i + 1, missing - 1, total);
      if (i >= gpus_) return;  // blanks are all alike
    }
  }

  Mask best_set() const {
    Mask best = 0;
    for (const Mask set : best_) {
      if (answers(set) && (best == 0 || score(set) > score(best))) best = set;
    }
    return best;
  }

  const Scores& scores_;
  Mask required_;
  std::size_t gpus_;
  std::size_t padded_;  // at most 14, for 8 GPUs in sets of 7
  std::size_t size_;
  std::vector<Mask> sets_;  // sets of the split being built
  std::vector<Mask> best_;
  int best_total_ = 0;
};

// A set that grows and shrinks. It knows what each GPU would add to its score.
class GrowingSet {
 public:
  explicit GrowingSet(const Scores& scores)
      : scores_(scores), in_(scores.size()), gain_(scores.size()) {}

  bool contains(std::size_t gpu) const { return in_[gpu]; }
  int gain(std::size_t gpu) const { return gain_[gpu]; }
  int score() const { return score_; }
  std::size_t count() const { return count_; }
  // The gain in score from replacing `out`, which is in the set, by `in`, which is not.
  int gain_of_swap(std::size_t out, std::size_t in) const {
    return gain_[in] - scores_.at(in, out) - gain_[out];
  }

  void add(std::size_t gpu) {
    score_ += gain_[gpu];
    in_[gpu] = true;
    ++count_;
    for (std::size_t i = 0; i < gain_.size(); ++i) gain_[i] += scores_.at(gpu, i);
  }
  void remove(std::size_t gpu) {
    for (std::size_t i = 0; i < gain_.size(); ++i) gain_[i] -= scores_.at(gpu, i);
    --count_;
    in_[gpu] = false;
    score_ -= gain_[gpu];
  }

  AlignedSet value() const {
    AlignedSet out;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (in_[i]) out.gpus.push_back(i);
    }
    out.score = score_;
    return out;
  }

 private:
  const Scores& scores_;
  std::vector<bool> in_;
  std::vector<int> gain_;
  int score_ = 0;
  std::size_t count_ = 0;
};

// All sets, in lexicographic order.
class AllSets {
 public:
  AllSets(GrowingSet start, std::size_t gpus, std::size_t size)
      : set_(std::move(start)), gpus_(gpus), size_(size) {}

  AlignedSet run() {
    visit(0);
    best_->rule = fmt::format("the best of all sets of {} of {} free GPUs", size_, gpus_);
    return *best_;
  }

 private:
  void visit(std::size_t next) {
    if (set_.count() == size_) {
      if (!best_ || set_.score() > best_->score) best_ = set_.value();
      return;
    }
    // The loop stops where too few others follow, so every branch ends in a set.
    std::size_t left = 0;
    for (std::size_t i = next; i < gpus_; ++i) left += set_.contains(i) ? 0 : 1;
    for (std::size_t i = next; set_.count() + left >= size_; ++i) {
      if (set_.contains(i)) continue;
      --left;
      set_.add(i);
      visit(i + 1);
      set_.remove(i);
    }
  }

  GrowingSet set_;
  std::size_t gpus_;
  std::size_t size_;
  std::optional<AlignedSet> best_;
};

// Greedy growth and swaps, for machines too large to try all sets.
class Heuristic {
 public:
  Heuristic(GrowingSet start, std::size_t gpus, std::size_t size)
      : start_(std::move(start)), gpus_(gpus), size_(size) {
    for (std::size_t i = 0; i < gpus; ++i) {
      if (!start_.contains(i)) free_.push_back(i);
    }
  }

  AlignedSet run() const {
    constexpr std::size_t kSeeds = 64;
    constexpr std::size_t kSwaps = 16;
    std::optional<AlignedSet> best;
    for (std::size_t seed = 0; seed < std::min(free_.size(), kSeeds); ++seed) {
      GrowingSet set = start_;
      set.add(free_[seed]);
      grow(set);
      for (std::size_t round = 0; round < kSwaps && swap_once(set); ++round) {
      }
      if (!best || set.score() > best->score) best = set.value();
    }
    best->rule = fmt::format(
        "a good set of {} of {} free GPUs (too many sets to try all: grown greedily, improved by "
        "swaps)",
        size_, gpus_);
    return *best;
  }

 private:
  void grow(GrowingSet& set) const {
    while (set.count() < size_) {
      std::optional<std::size_t> best;
      for (const std::size_t gpu : free_) {
        if (!set.contains(gpu) && (!best || set.gain(gpu) > set.gain(*best))) best = gpu;
      }
      set.add(*best);
    }
  }

  // Makes the swap that helps most; false when none helps.
  bool swap_once(GrowingSet& set) const {
    int best = 0;
    std::size_t leaves = 0;
    std::size_t enters = 0;
    for (const std::size_t out : free_) {
      for (const std::size_t in : free_) {
        if (!set.contains(out)) break;
        if (set.contains(in)) continue;
        const int won = set.gain_of_swap(out, in);
        if (won <= best) continue;
        best = won;
        leaves = out;
        enters = in;
      }
    }
    if (best == 0) return false;
    set.remove(leaves);
    set.add(enters);
    return true;
  }

  GrowingSet start_;
  std::size_t gpus_;
  std::size_t size_;
  std::vector<std::size_t> free_;  // free GPUs that are not required
};

// Whether trying all ways to choose k of n stays within kMaxSteps. The search tree has (n + 1 over
// k) nodes, each of which looks at every GPU.
bool few_sets(std::size_t n, std::size_t k, std::size_t gpus) {
  const std::size_t shorter = std::min(k, n + 1 - k);
  std::size_t nodes = 1;
  for (std::size_t i = 1; i <= shorter && nodes * gpus <= kMaxSteps; ++i) {
    nodes = nodes * (n + 1 - shorter + i) / i;
  }
  return nodes * gpus <= kMaxSteps;
}

}  // namespace

int link_score(const gpu::Link& link) {
  const int nvlinks = 100 * link.nvlinks;
  switch (link.level) {
    case gpu::P2pLevel::kInternal:
      return nvlinks + 60;
    case gpu::P2pLevel::kSingleSwitch:
      return nvlinks + 50;
    case gpu::P2pLevel::kMultiSwitch:
      return nvlinks + 40;
    case gpu::P2pLevel::kHostBridge:
      return nvlinks + 30;
    case gpu::P2pLevel::kNode:
      return nvlinks + 20;
    case gpu::P2pLevel::kSystem:
      return nvlinks + 10;
    case gpu::P2pLevel::kUnknown:
      break;
  }
  return nvlinks;
}

std::optional<AlignedSet> best_aligned(const Scores& scores, std::span<const std::size_t> required,
                                       std::size_t size) {
  const std::size_t gpus = scores.size();
  if (size == 0 || size > gpus || required.size() > size) return std::nullopt;
  if (gpus <= kPartitionLimit) {
    Mask mask = 0;
    for (const std::size_t gpu : required) mask |= bit(gpu);
    return Partitions(scores, mask, size).run();
  }
  GrowingSet start(scores);
  for (const std::size_t gpu : required) start.add(gpu);
  if (few_sets(gpus - required.size(), size - required.size(), gpus)) {
    return AllSets(std::move(start), gpus, size).run();
  }
  return Heuristic(std::move(start), gpus, size).run();
}

}  // namespace tranche::offer
