#include "offer/aligned.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "support/machines.h"

namespace tranche::offer::aligned_test {
namespace {

using ::testing::ElementsAre;
using Set = std::vector<std::size_t>;

Scores scores_of(const gpu::Topology& topology) {
  Scores scores(topology.size());
  for (std::size_t a = 0; a < topology.size(); ++a) {
    for (std::size_t b = a + 1; b < topology.size(); ++b) {
      scores.set(a, b, link_score(topology.at(a, b)));
    }
  }
  return scores;
}

int score_of(const Scores& scores, const Set& set) {
  int sum = 0;
  for (const std::size_t a : set) {
    for (const std::size_t b : set) {
      if (a < b && b < scores.size()) sum += scores.at(a, b);
    }
  }
  return sum;
}

bool includes(const Set& set, const Set& required) { return std::ranges::includes(set, required); }

// NVIDIA's rule written once more, as plainly as possible: make every partition, sort them, take
// the first of the best. Blanks are the number n.
class NaivePartitions {
 public:
  NaivePartitions(const Scores& scores, std::size_t size) : scores_(scores), size_(size) {}

  std::optional<Set> best(const Set& required) {
    assign(0);
    std::ranges::sort(all_);
    const std::vector<Set>* best = nullptr;
    for (const std::vector<Set>& partition : all_) {
      const bool fits = std::ranges::any_of(
          partition, [&](const Set& set) { return full(set) && includes(set, required); });
      if (fits && (best == nullptr || total(partition) > total(*best))) best = &partition;
    }
    if (best == nullptr) return std::nullopt;
    const Set* winner = nullptr;
    for (const Set& set : *best) {
      if (!full(set) || !includes(set, required)) continue;
      if (winner == nullptr || score_of(scores_, set) > score_of(scores_, *winner)) winner = &set;
    }
    return *winner;
  }

 private:
  bool full(const Set& set) const { return set.back() < scores_.size(); }
  int total(const std::vector<Set>& partition) const {
    return std::accumulate(partition.begin(), partition.end(), 0, [this](int sum, const Set& set) {
      return sum + score_of(scores_, set);
    });
  }

  void assign(std::size_t gpu) {
    const std::size_t n = scores_.size();
    if (gpu == n) {
      if (sets_.size() != (n + size_ - 1) / size_) return;
      std::vector<Set> padded = sets_;
      for (Set& set : padded) set.resize(size_, n);
      all_.push_back(std::move(padded));
      return;
    }
    // By index, because recursive calls add sets and remove them again.
    for (std::size_t i = 0; i < sets_.size(); ++i) {  // NOLINT(modernize-loop-convert)
      if (sets_[i].size() == size_) continue;
      sets_[i].push_back(gpu);
      assign(gpu + 1);
      sets_[i].pop_back();
    }
    sets_.push_back({gpu});
    assign(gpu + 1);
    sets_.pop_back();
  }

  const Scores& scores_;
  std::size_t size_;
  std::vector<Set> sets_;
  std::vector<std::vector<Set>> all_;
};

std::optional<Set> naive_best_set(const Scores& scores, const Set& required, std::size_t size) {
  std::optional<Set> best;
  for (std::size_t mask = 0; mask < (std::size_t{1} << scores.size()); ++mask) {
    Set set;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (mask >> i & 1U) set.push_back(i);
    }
    if (set.size() != size || !includes(set, required)) continue;
    const int won = best ? score_of(scores, set) - score_of(scores, *best) : 1;
    if (won > 0 || (won == 0 && set < *best)) best = set;
  }
  return best;
}

struct Case {
  Scores scores;
  Set required;
  std::size_t size;
};

// Few different link kinds, so that ties are common.
Case arbitrary_case(std::size_t least, std::size_t most) {
  const auto gpus = *rc::gen::inRange<std::size_t>(least, most + 1);
  Case out{Scores(gpus), {}, *rc::gen::inRange<std::size_t>(1, gpus + 1)};
  for (std::size_t a = 0; a < gpus; ++a) {
    for (std::size_t b = a + 1; b < gpus; ++b) {
      out.scores.set(a, b, *rc::gen::elementOf(std::vector<int>{0, 10, 20, 50, 150, 250}));
    }
  }
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    if (out.required.size() < out.size && *rc::gen::inRange(0, 5) == 0) out.required.push_back(gpu);
  }
  return out;
}

TEST(LinkScores, AreNvidias) {
  const std::map<gpu::P2pLevel, int> expected = {
      {gpu::P2pLevel::kUnknown, 0},      {gpu::P2pLevel::kSystem, 10},
      {gpu::P2pLevel::kNode, 20},        {gpu::P2pLevel::kHostBridge, 30},
      {gpu::P2pLevel::kMultiSwitch, 40}, {gpu::P2pLevel::kSingleSwitch, 50},
      {gpu::P2pLevel::kInternal, 60}};
  for (const auto& [level, score] : expected) {
    EXPECT_EQ(link_score({level, 0}), score);
    EXPECT_EQ(link_score({level, 4}), score + 400);
  }
}

TEST(Aligned, Impossible) {
  const Scores scores(4);
  EXPECT_FALSE(best_aligned(scores, {}, 0));
  EXPECT_FALSE(best_aligned(scores, {}, 5));
  EXPECT_FALSE(best_aligned(scores, Set{0, 1}, 1));
  EXPECT_FALSE(best_aligned(Scores(0), {}, 1));
}

// DGX-1 style: two islands of four. A pair comes from one island; of the
// equal partitions the first (0-1, 2-3, 4-5, 6-7) decides which.
TEST(Aligned, PairsWithinAnIsland) {
  const Scores scores = scores_of(test::islands(8, 4, 2));
  const auto set = best_aligned(scores, Set{6}, 2);
  ASSERT_TRUE(set);
  EXPECT_THAT(set->gpus, ElementsAre(6, 7));
  EXPECT_EQ(set->score, 250);
}

// The partition rule at work: 0-1 is the best pair (90), but taking it leaves 2-3 with 0; 0-2 and
// 1-3 make 160 in all.
TEST(Aligned, TheBestPartitionBeatsTheBestSet) {
  Scores scores(4);
  scores.set(0, 1, 90);
  scores.set(0, 2, 80);
  scores.set(1, 3, 80);
  const auto set = best_aligned(scores, {}, 2);
  ASSERT_TRUE(set);
  EXPECT_THAT(set->gpus, ElementsAre(0, 2));
  EXPECT_EQ(set->rule, "the best set in the best split of 4 free GPUs into sets of 2 (total 160)");
}

TEST(Aligned, AboveEightTheBestSetWins) {
  Scores scores(10);
  scores.set(7, 8, 90);
  scores.set(7, 9, 80);
  const auto set = best_aligned(scores, {}, 2);
  ASSERT_TRUE(set);
  EXPECT_THAT(set->gpus, ElementsAre(7, 8));
  EXPECT_EQ(set->rule, "the best of all sets of 2 of 10 free GPUs");
}

TEST(Aligned, TiesGoToTheLowestIndices) {
  EXPECT_THAT(best_aligned(Scores(8), {}, 3)->gpus, ElementsAre(0, 1, 2));
  EXPECT_THAT(best_aligned(Scores(8), Set{5}, 1)->gpus, ElementsAre(5));
  EXPECT_THAT(best_aligned(Scores(16), {}, 3)->gpus, ElementsAre(0, 1, 2));
  EXPECT_THAT(best_aligned(Scores(16), Set{9}, 3)->gpus, ElementsAre(0, 1, 9));
}

// 32 GPUs in islands of 8: too many sets to try all, and the search still finds an island.
TEST(Aligned, LargeMachinesAreSearchedInBounds) {
  const Scores scores = scores_of(test::islands(32, 8, 2));
  const auto set = best_aligned(scores, Set{19}, 8);
  ASSERT_TRUE(set);
  EXPECT_THAT(set->gpus, ElementsAre(16, 17, 18, 19, 20, 21, 22, 23));
  EXPECT_THAT(set->rule, ::testing::HasSubstr("grown greedily"));
  EXPECT_EQ(set->score, score_of(scores, set->gpus));
}

// GPU 1 fits the required GPU 0 best, so every greedy start takes it. A swap must replace it by one
// more of the well-connected dozen.
TEST(Aligned, SwapsRepairAGreedyStart) {
  Scores scores(24);
  for (std::size_t a = 12; a < 24; ++a) {
    for (std::size_t b = a + 1; b < 24; ++b) scores.set(a, b, 50);
  }
  scores.set(0, 1, 60);
  EXPECT_THAT(best_aligned(scores, Set{0}, 10)->gpus,
              ElementsAre(0, 12, 13, 14, 15, 16, 17, 18, 19, 20));
}

RC_GTEST_PROP(AlignedProperty, UpToEightAsTheRulePlainlyRead, ()) {
  const Case given = arbitrary_case(1, 8);
  const auto found = best_aligned(given.scores, given.required, given.size);
  const auto expected = NaivePartitions(given.scores, given.size).best(given.required);
  RC_ASSERT(found.has_value() == expected.has_value());
  RC_ASSERT(found->gpus == *expected);
  RC_ASSERT(found->score == score_of(given.scores, found->gpus));
}

RC_GTEST_PROP(AlignedProperty, AboveEightTheBestOfAllSets, ()) {
  const Case given = arbitrary_case(9, 12);
  const auto found = best_aligned(given.scores, given.required, given.size);
  RC_ASSERT(found.has_value());
  RC_ASSERT(found->gpus == *naive_best_set(given.scores, given.required, given.size));
  RC_ASSERT(found->score == score_of(given.scores, found->gpus));
}

RC_GTEST_PROP(AlignedProperty, TheBoundedSearchKeepsItsPromises, ()) {
  const Case given = arbitrary_case(17, 40);
  const auto found = best_aligned(given.scores, given.required, given.size);
  RC_ASSERT(found.has_value());
  RC_ASSERT(found->gpus.size() == given.size);
  RC_ASSERT(std::ranges::is_sorted(found->gpus));
  RC_ASSERT(includes(found->gpus, given.required));
  RC_ASSERT(found->score == score_of(given.scores, found->gpus));
}

}  // namespace
}  // namespace tranche::offer::aligned_test
