#include "interpose/waiters.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tranche::interpose::waiters_test {
namespace {

TEST(Waiters, CountsThoseThatWait) {
  Waiters waiters;
  const auto first = waiters.enter();
  const auto second = waiters.enter();
  EXPECT_EQ(waiters.count(), 2U);
  waiters.leave(first);
  waiters.leave(second);
  EXPECT_EQ(waiters.count(), 0U);
}

TEST(Waiters, WhoSaysSoInEachRoundCountsOnce) {
  Waiters waiters;
  auto round = waiters.enter();
  for (int i = 0; i < 5; ++i) {
    waiters.next_round();
    EXPECT_EQ(waiters.count(), 1U);
    round = waiters.stay(round);
    EXPECT_EQ(waiters.count(), 1U);
  }
  waiters.leave(round);
  EXPECT_EQ(waiters.count(), 0U);
}

TEST(Waiters, WhoLeftWithoutAWordIsForgottenAfterTwoRounds) {
  Waiters waiters;
  waiters.enter();
  auto other = waiters.enter();
  waiters.next_round();
  other = waiters.stay(other);
  EXPECT_EQ(waiters.count(), 2U);
  waiters.next_round();
  other = waiters.stay(other);
  EXPECT_EQ(waiters.count(), 1U);
  waiters.leave(other);
  EXPECT_EQ(waiters.count(), 0U);
}

TEST(Waiters, WhoSleptForManyRoundsCountsAgain) {
  Waiters waiters;
  auto sleeper = waiters.enter();
  const auto late = waiters.enter();
  for (int i = 0; i < 3; ++i) waiters.next_round();
  EXPECT_EQ(waiters.count(), 0U);
  sleeper = waiters.stay(sleeper);
  EXPECT_EQ(waiters.count(), 1U);
  waiters.leave(late);
  EXPECT_EQ(waiters.count(), 1U) << "it was forgotten already";
  waiters.leave(sleeper);
  EXPECT_EQ(waiters.count(), 0U);
}

TEST(Waiters, NobodyIsLostWhileRoundsPass) {
  Waiters waiters;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20'000; ++i) {
          auto round = waiters.enter();
          round = waiters.stay(round);
          waiters.leave(round);
        }
      });
    }
    for (int i = 0; i < 2'000; ++i) waiters.next_round();
  }
  EXPECT_LE(waiters.count(), 4U);
  waiters.next_round();
  waiters.next_round();
  EXPECT_EQ(waiters.count(), 0U);
}

}  // namespace
}  // namespace tranche::interpose::waiters_test
