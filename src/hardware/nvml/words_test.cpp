#include "nvml/words.h"

#include <gtest/gtest.h>

namespace tranche::nvml::words_test {
namespace {

TEST(Words, AreThoseOfNvidiasDriver) {
  EXPECT_EQ(brand_text(0), "Unknown");
  EXPECT_EQ(brand_text(2), "Tesla");
  EXPECT_EQ(brand_text(5), "GeForce");
  EXPECT_EQ(brand_text(14), "Nvidia");
  EXPECT_EQ(brand_text(16), "TitanRTX");
  EXPECT_EQ(addressing_text(0), "None");
  EXPECT_EQ(addressing_text(1), "HMM");
  EXPECT_EQ(addressing_text(2), "ATS");
}

TEST(Words, ANumberOfALaterDriverHasNone) {
  EXPECT_EQ(brand_text(17), "");
  EXPECT_EQ(addressing_text(3), "");
}

}  // namespace
}  // namespace tranche::nvml::words_test
