#include "base/backoff.h"

#include <gtest/gtest.h>

namespace tranche::backoff_test {
namespace {

using std::chrono::milliseconds;

TEST(Backoffs, DoubleUpToTheLongestAndBeginAnewAfterASuccess) {
  Backoff backoff{.first = milliseconds(10), .longest = milliseconds(50)};
  EXPECT_TRUE(backoff.is_fresh());
  for (const auto wait : {10, 20, 40, 50, 50}) EXPECT_EQ(backoff.next(), milliseconds(wait));
  EXPECT_FALSE(backoff.is_fresh());
  EXPECT_EQ(backoff.wait(), milliseconds(50)) << "looking changes nothing";
  backoff.reset();
  EXPECT_TRUE(backoff.is_fresh());
  EXPECT_EQ(backoff.next(), milliseconds(10));
}

}  // namespace
}  // namespace tranche::backoff_test
