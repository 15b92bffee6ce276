#include "base/unknown_words.h"

#include <gtest/gtest.h>

#include <vector>

namespace tranche::unknown_words_test {
namespace {

using Words = std::vector<std::string>;

TEST(UnknownWords, NamesEachWithTheNearestKnownOne) {
  const Words known = {"hold", "storm", "--memory"};
  EXPECT_EQ(unknown_words(Words{"strom"}, known),
            "unknown command \"strom\"; did you mean \"storm\"?\n");
  EXPECT_EQ(unknown_words(Words{"--memry=1Gi", "frobnicate"}, known),
            "unknown flag \"--memry\"; did you mean \"--memory\"?\n"
            "unknown command \"frobnicate\"\n");
  EXPECT_EQ(unknown_words(Words{}, known), "");
}

}  // namespace
}  // namespace tranche::unknown_words_test
