#include "base/amounts.h"

#include <gtest/gtest.h>

#include <limits>

namespace tranche::amounts_test {
namespace {

constexpr std::uint64_t kMib = 1U << 20U;
constexpr std::uint64_t kGib = 1U << 30U;

TEST(Amounts, Sizes) {
  EXPECT_EQ(size_text(0), "0 KiB");
  EXPECT_EQ(size_text(65536), "64 KiB");
  EXPECT_EQ(size_text(kMib - 1), "1023 KiB");
  EXPECT_EQ(size_text(1023 * kMib), "1023 MiB");
  EXPECT_EQ(size_text(2 * kGib), "2 GiB");
  EXPECT_EQ(size_text(72 * kGib / 10), "7.2 GiB");
  EXPECT_EQ(size_text(3 * kGib - 1), "3 GiB");
  EXPECT_EQ(size_text(std::numeric_limits<std::uint64_t>::max()), "17179869184 GiB");
}

TEST(Amounts, Ages) {
  EXPECT_EQ(age_text(-5), "0s");
  EXPECT_EQ(age_text(119), "119s");
  EXPECT_EQ(age_text(120), "2m");
  EXPECT_EQ(age_text(7199), "119m");
  EXPECT_EQ(age_text(7200), "2h");
  EXPECT_EQ(age_text(3 * 86400), "3d");
  EXPECT_EQ(age_text(std::numeric_limits<std::int64_t>::max()), "106751991167300d");
}

}  // namespace
}  // namespace tranche::amounts_test
