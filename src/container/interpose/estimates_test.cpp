#include "interpose/estimates.h"

#include <gtest/gtest.h>

namespace tranche::interpose::estimates_test {
namespace {

// Kernels, 64 bytes apart, as returned by a driver.
alignas(64) char kernels[3 * 64];
const void* handle(std::size_t n) { return kernels + n * 64; }

TEST(EstimatesTest, WhatWasNeverMeasuredCountsAsLong) {
  static Estimates estimates;
  EXPECT_EQ(estimates.of(handle(1)), Estimates::kUnknown);
  estimates.learn(handle(1), 20'000);
  EXPECT_EQ(estimates.of(handle(1)), 20'000U);
  EXPECT_EQ(estimates.of(handle(2)), Estimates::kUnknown);
}

TEST(EstimatesTest, MeasurementsThatOthersStretchedCountLittle) {
  static Estimates estimates;
  // One in three spans a neighbour's slice of 2 ms.
  for (int i = 0; i < 300; ++i) estimates.learn(handle(1), i % 3 == 0 ? 2'050'000 : 50'000);
  EXPECT_LT(estimates.of(handle(1)), 200'000U);
  EXPECT_GE(estimates.of(handle(1)), 50'000U);
}

TEST(EstimatesTest, FollowsALaunchThatGrewOrShrank) {
  static Estimates estimates;
  estimates.learn(handle(1), 10'000);
  for (int i = 0; i < 100; ++i) estimates.learn(handle(1), 400'000);
  EXPECT_GT(estimates.of(handle(1)), 300'000U);
  for (int i = 0; i < 16; ++i) estimates.learn(handle(1), 5'000);
  EXPECT_LT(estimates.of(handle(1)), 6'000U);
}

TEST(EstimatesTest, ABoundOnlyLowers) {
  static Estimates estimates;
  estimates.bound(handle(1), 300'000);
  EXPECT_EQ(estimates.of(handle(1)), 300'000U);
  estimates.bound(handle(1), 900'000);
  EXPECT_EQ(estimates.of(handle(1)), 300'000U);
}

}  // namespace
}  // namespace tranche::interpose::estimates_test
