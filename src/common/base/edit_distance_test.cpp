#include "base/edit_distance.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tranche::edit_distance_test {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("MigStrategy", "migstrategy"), 0U);
}

constexpr std::array<std::string_view, 4> kKeys = {"replicas", "rename", "name", "devices"};

struct Case {
  const char* name;
  const char* word;
  std::optional<std::string_view> expected;
};

class Nearest : public testing::TestWithParam<Case> {};

TEST_P(Nearest, Finds) { EXPECT_EQ(nearest(GetParam().word, kKeys), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(Words, Nearest,
                         testing::Values(Case{"exact", "name", "name"},
                                         Case{"case", "Replicas", "replicas"},
                                         Case{"letter_missing", "replica", "replicas"},
                                         Case{"letters_swapped", "renaem", "rename"},
                                         Case{"nothing_like_it", "failRequests", std::nullopt},
                                         Case{"one_letter_is_no_misspelling", "x", std::nullopt},
                                         Case{"empty", "", std::nullopt}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Nearest, OfEquallyNearWordsTheOneThatBeginsAlikeIsMeant) {
  constexpr std::string_view kWords[] = {"lint", "limit", "list"};
  EXPECT_EQ(nearest("limt", kWords), "limit");
  EXPECT_EQ(nearest("linr", kWords), "lint");
}

TEST(Nearest, HugeWordsAreNotCompared) {
  EXPECT_EQ(nearest(std::string(1U << 20U, 'a'), kKeys), std::nullopt);
}

}  // namespace
}  // namespace tranche::edit_distance_test
