#include "base/lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tranche::lines_test {
namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) lines.emplace_back(take_line(text));
  return lines;
}

TEST(TakeLine, TheLastLineNeedsNoEnd) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of(""), Lines());
  EXPECT_EQ(lines_of("\n"), Lines({""}));
  EXPECT_EQ(lines_of("one"), Lines({"one"}));
  EXPECT_EQ(lines_of("one\n"), Lines({"one"}));
  EXPECT_EQ(lines_of("one\n\ntwo\r\nthree"), Lines({"one", "", "two\r", "three"}));
}

TEST(TakeLine, OfNothingItIsEmpty) {
  std::string_view text;
  EXPECT_EQ(take_line(text), "");
  EXPECT_TRUE(text.empty());
}

}  // namespace
}  // namespace tranche::lines_test
