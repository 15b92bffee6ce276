#include "arbiter/places.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tranche::arbiter::places_test {
namespace {

// Each takes what it can get, one after the other.
TEST(Places, EachOfSeveralGreedyTenantsHasItsPart) {
  constexpr std::size_t kTotal = 600;
  Places places(kTotal);
  std::array<std::vector<Places::Lease>, 5> tenants;
  for (auto& tenant : tenants) {
    while (places.may_take(tenant.size())) tenant.emplace_back(places);
  }
  EXPECT_EQ(tenants[0].size(), kTotal / 2);
  EXPECT_EQ(tenants[1].size(), kTotal / 4);
  // The first one gets no more, and its places go to the others as its processes end.
  tenants[0].clear();
  for (int round = 0; round < 1000; ++round) {
    for (auto& tenant : tenants) {
      if (places.may_take(tenant.size())) tenant.emplace_back(places);
    }
  }
  for (const auto& tenant : tenants) EXPECT_GT(tenant.size(), 15U);
}

TEST(Places, WhatIsGivenBackMayBeTakenAgain) {
  Places places(2);
  {
    const Places::Lease one(places);
    EXPECT_FALSE(places.may_take(1));
    EXPECT_TRUE(places.may_take(0));
  }
  EXPECT_TRUE(places.may_take(1));
}

TEST(Places, AProcessHasRoomForSome) { EXPECT_TRUE(Places::of_this_process().may_take(0)); }

}  // namespace
}  // namespace tranche::arbiter::places_test
