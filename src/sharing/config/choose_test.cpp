#include "config/choose.h"

#include <gtest/gtest.h>

namespace tranche::config::choose_test {
namespace {

using Names = std::vector<std::string>;

struct Case {
  const char* name;
  Wish wish;
  Names names;
  // The choice: a name, "" for the empty configuration; nullopt: an error that contains `text`.
  std::optional<std::string> expected;
  const char* text;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Choose : public testing::TestWithParam<Case> {};

TEST_P(Choose, FollowsTheOrder) {
  const auto choice = choose(GetParam().wish, GetParam().names);
  ASSERT_EQ(choice.has_value(), GetParam().expected.has_value())
      << (choice ? choice->reason : choice.error().message());
  const auto text = choice ? choice->reason : choice.error().message();
  EXPECT_NE(text.find(GetParam().text), std::string::npos) << text;
  if (choice) {
    EXPECT_EQ(choice->name.value_or(""), *GetParam().expected);
  }
}

const Names kNames = {"default", "l20", "t4"};

INSTANTIATE_TEST_SUITE_P(
    Orders, Choose,
    testing::Values(
        Case{"label",
             {.label = "l20", .default_name = "t4"},
             kNames,
             "l20",
             "label nvidia.com/device-plugin.config=l20"},
        Case{"default", {.default_name = "t4"}, kNames, "t4", "default t4"},
        Case{"empty_label_is_unset", {.label = "", .default_name = "t4"}, kNames, "t4", "t4"},
        Case{"named", {}, kNames, "default", "'default'"},
        Case{"single", {}, {"only"}, "only", "only one"},
        Case{"empty", {.fallbacks = {Fallback::kEmpty}}, kNames, "", "empty"},
        Case{"order_of_fallbacks",
             {.fallbacks = {Fallback::kSingle, Fallback::kNamed}},
             {"default"},
             "default",
             "only one"},
        Case{"unknown_label",
             {.label = "h20", .default_name = "t4"},
             kNames,
             std::nullopt,
             "specified config h20 does not exist; there are default, l20, t4"},
        Case{"unknown_default",
             {.default_name = "h20"},
             kNames,
             std::nullopt,
             "specified config h20 does not exist"},
        Case{"all_fallbacks_fail",
             {},
             {"a", "b"},
             std::nullopt,
             "no config was set, no default was provided, and all fallbacks failed"},
        Case{"no_fallbacks", {.fallbacks = {}}, kNames, std::nullopt, "all fallbacks failed"},
        Case{"no_configurations", {}, {}, std::nullopt, "there are no configurations"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Fallbacks, AreNamedInOrder) {
  const auto fallbacks = parse_fallbacks({"empty", "named", "single"});
  ASSERT_TRUE(fallbacks);
  EXPECT_EQ(*fallbacks, (std::vector{Fallback::kEmpty, Fallback::kNamed, Fallback::kSingle}));
  const auto refused = parse_fallbacks({"named", "first"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "unknown fallback strategy: first; write named, single or empty");
}

}  // namespace
}  // namespace tranche::config::choose_test
