#include "agent/dra/ill_since.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::agent::ill_since_test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

const IllSince::TimePoint kStart{seconds(1000)};

TEST(IllSinceTest, EvictsAfterTheTimeAndNotBefore) {
  IllSince ill(seconds(60));
  ill.see({{"GPU-a", "XID 79"}}, kStart);
  ill.see({{"GPU-a", "XID 79"}, {"GPU-b", "lost"}}, kStart + seconds(30));
  EXPECT_THAT(ill.evicting(kStart + seconds(59)), IsEmpty());
  EXPECT_EQ(ill.next(kStart + seconds(59)), kStart + seconds(60));
  EXPECT_THAT(ill.evicting(kStart + seconds(60)), ElementsAre("GPU-a"));
  EXPECT_EQ(ill.next(kStart + seconds(60)), kStart + seconds(90));
  EXPECT_THAT(ill.evicting(kStart + seconds(90)), ElementsAre("GPU-a", "GPU-b"));
  EXPECT_EQ(ill.next(kStart + seconds(90)), std::nullopt);
}

TEST(IllSinceTest, WhatHealsBeginsAnew) {
  IllSince ill(seconds(60));
  ill.see({{"GPU-a", "XID 79"}}, kStart);
  ill.see({}, kStart + seconds(30));
  ill.see({{"GPU-a", "XID 79"}}, kStart + seconds(40));
  EXPECT_THAT(ill.evicting(kStart + seconds(60)), IsEmpty());
  EXPECT_THAT(ill.evicting(kStart + seconds(100)), ElementsAre("GPU-a"));
}

TEST(IllSinceTest, NeverIsNever) {
  for (const auto after :
       {std::optional<std::chrono::nanoseconds>(),
        std::optional<std::chrono::nanoseconds>(std::chrono::nanoseconds::max())}) {
    IllSince ill(after);
    ill.see({{"GPU-a", "XID 79"}}, kStart);
    EXPECT_THAT(ill.evicting(kStart + std::chrono::hours(100'000)), IsEmpty());
    EXPECT_EQ(ill.next(kStart), std::nullopt);
  }
}

}  // namespace
}  // namespace tranche::agent::ill_since_test
