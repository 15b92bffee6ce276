#include "limit/untracked_memory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace tranche::limit::untracked_memory_test {
namespace {

using Reading = std::vector<Held>;

TEST(UntrackedMemory, EachReadingOfSlotsThatStandStillCounts) {
  struct Case {
    const char* name;
    Reading processes;
    std::uint64_t untracked;
  };
  const Case cases[] = {
      {"Nobody", {}, 0},
      {"AContext", {{300, 0, 0}}, 300},
      {"AContextAndWhatIsCharged", {{1300, 1000, 1000}}, 300},
      {"NeverBelowNothing", {{100, 1000, 1000}}, 0},
      {"OneDoesNotMakeUpForAnother", {{100, 1000, 1000}, {500, 100, 100}}, 400},
      {"OneThatNeverRegistered", {{1300, 1000, 1000}, {700, 0, 0}}, 1000},
  };
  for (const auto& c : cases) {
    UntrackedMemory untracked(123);
    EXPECT_EQ(untracked.take(c.processes), c.untracked) << c.name;
    EXPECT_EQ(untracked.bytes(), c.untracked) << c.name;
  }
}

// Memory was charged after the first reading and freed before the second. NVML saw it in between.
TEST(UntrackedMemory, AChargeThatComesAndGoesIsForgotten) {
  UntrackedMemory untracked;
  untracked.take(Reading{{300, 0, 0}});
  EXPECT_EQ(untracked.take(Reading{{5300, 0, 0}}), 300U);
  EXPECT_FALSE(untracked.settled()) << "it wants another reading";
  EXPECT_EQ(untracked.take(Reading{{300, 0, 0}}), 300U);
  EXPECT_TRUE(untracked.settled());
}

// Memory was freed and allocated again between the two readings.
TEST(UntrackedMemory, MemoryThatGoesAndComesIsForgottenToo) {
  UntrackedMemory untracked;
  untracked.take(Reading{{1300, 1000, 1000}});
  EXPECT_EQ(untracked.take(Reading{{300, 1000, 1000}}), 300U);
  EXPECT_EQ(untracked.take(Reading{{1300, 1000, 1000}}), 300U);
}

TEST(UntrackedMemory, ASlotThatMovesMakesTheReadingCoarseAndMovesNothing) {
  UntrackedMemory untracked;
  untracked.take(Reading{{300, 0, 0}});
  EXPECT_EQ(untracked.take(Reading{{1300, 0, 1000}}), 300U);
  EXPECT_TRUE(untracked.settled());
  EXPECT_EQ(untracked.take(Reading{{300, 1000, 0}}), 300U);
  EXPECT_TRUE(untracked.settled());
}

// A context was made after the first reading, and more was charged during the second one. The third
// one sees the context, but does not yet agree with the one before.
TEST(UntrackedMemory, OnlyAnExactReadingThatAgreesIsCertain) {
  UntrackedMemory untracked;
  EXPECT_FALSE(untracked.is_certain()) << "nothing was read";
  untracked.take(Reading{{0, 0, 0}});
  EXPECT_TRUE(untracked.is_certain());
  EXPECT_EQ(untracked.take(Reading{{300, 0, 1000}}), 0U);
  EXPECT_FALSE(untracked.is_certain()) << "coarse";
  EXPECT_EQ(untracked.take(Reading{{1300, 1000, 1000}}), 0U);
  EXPECT_FALSE(untracked.is_certain()) << "not what is told";
  EXPECT_EQ(untracked.take(Reading{{1300, 1000, 1000}}), 300U);
  EXPECT_TRUE(untracked.is_certain());
}

TEST(UntrackedMemory, WhatIsNewAndWhatIsGoneCountsWithTheSecondReading) {
  UntrackedMemory untracked;
  untracked.take({});
  EXPECT_EQ(untracked.take(Reading{{300, 0, 0}}), 0U);
  EXPECT_EQ(untracked.take(Reading{{300, 0, 0}}), 300U);
  EXPECT_EQ(untracked.take({}), 300U);
  EXPECT_EQ(untracked.take({}), 0U);
}

// The second reading finds memory that is counted and never charged, whatever the slot does.
RC_GTEST_PROP(OutsideProperties, TwoReadingsFindUnchargedMemory, ()) {
  const auto hidden = *rc::gen::inRange<std::uint64_t>(1, 1U << 30U);
  UntrackedMemory untracked(*rc::gen::inRange<std::uint64_t>(0, 1U << 30U));
  for (int i = 0; i < 2; ++i) {
    const auto before = *rc::gen::inRange<std::uint64_t>(0, 1U << 20U);
    const auto after = *rc::gen::inRange<std::uint64_t>(0, 1U << 20U);
    untracked.take(Reading{{hidden + std::max(before, after), before, after}});
  }
  RC_ASSERT(untracked.bytes() >= hidden);
}

// An honest process: its slot always agrees with NVML's count except for its context. The context
// stays untracked, as long as one of two readings in a row missed nothing.
RC_GTEST_PROP(OutsideProperties, AnHonestOneKeepsItsContext, ()) {
  constexpr std::uint64_t kContext = 300;
  const auto any = rc::gen::inRange<std::uint64_t>(0, 1000);
  UntrackedMemory untracked;
  untracked.take(Reading{{kContext, 0, 0}});
  for (int i = 0; i < 10; ++i) {
    const auto before = *any;
    const auto after = *any;
    const bool missed = i % 2 == 0;
    const auto [low, high] = std::minmax(before, after);
    const auto between = missed ? *any : *rc::gen::inRange<std::uint64_t>(low, high + 1);
    untracked.take(Reading{{kContext + between, before, after}});
    RC_ASSERT(untracked.bytes() == kContext);
  }
}

}  // namespace
}  // namespace tranche::limit::untracked_memory_test
