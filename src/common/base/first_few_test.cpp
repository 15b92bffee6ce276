#include "base/first_few.h"

#include <gtest/gtest.h>

#include <vector>

namespace tranche::first_few_test {
namespace {

TEST(FirstFew, NamesTheFirstAndCountsTheOthers) {
  const std::vector<std::string> texts = {"a", "b", "c"};
  EXPECT_EQ(first_few(texts, 4), "a, b, c");
  EXPECT_EQ(first_few(texts, 3), "a, b, c");
  EXPECT_EQ(first_few(texts, 2), "a, b and 1 more");
  EXPECT_EQ(first_few(std::vector<std::string>(), 2), "");
}

}  // namespace
}  // namespace tranche::first_few_test
