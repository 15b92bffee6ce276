#include "base/said_once.h"

#include <gtest/gtest.h>

namespace tranche::said_once_test {
namespace {

TEST(SaidOnce, WhatStandsIsSaidOnceAndAgainWhenItChanges) {
  SaidOnce said;
  EXPECT_TRUE(said.is_news("disk", "full"));
  EXPECT_FALSE(said.is_news("disk", "full"));
  EXPECT_TRUE(said.is_news("disk", "gone"));
  EXPECT_TRUE(said.is_news("disk", "full"));
}

TEST(SaidOnce, TopicsAreApart) {
  SaidOnce said;
  EXPECT_TRUE(said.is_news("disk", "full"));
  EXPECT_TRUE(said.is_news("driver", "full"));
}

TEST(SaidOnce, WhatHasEndedIsNewsWhenItReturns) {
  SaidOnce said;
  EXPECT_FALSE(said.is_news("disk", ""));
  EXPECT_TRUE(said.is_news("disk", "full"));
  EXPECT_TRUE(said.was_said("disk"));
  EXPECT_FALSE(said.is_news("disk", ""));
  EXPECT_FALSE(said.was_said("disk"));
  EXPECT_TRUE(said.is_news("disk", "full"));
}

}  // namespace
}  // namespace tranche::said_once_test
