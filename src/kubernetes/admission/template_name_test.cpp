#include "admission/template_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::admission::template_name_test {
namespace {

using testing::HasSubstr;

constexpr Share kHalf{.memory = {}, .percent = 50};
constexpr Share kQuarter{.memory = {}, .percent = 25};
constexpr Share kBytes{.memory = Bytes::from_mib(12288), .percent = 40};

TEST(TemplateName, IsReadBack) {
  struct Case {
    const char* name;
    std::vector<Share> shares;
    const char* text;
  };
  const Case cases[] = {
      {"half", {kHalf}, "tranche-gpu-50"},
      {"one step", {{.memory = {}, .percent = 1}}, "tranche-gpu-1"},
      {"bytes in Gi", {kBytes}, "tranche-gpu-12gi-40"},
      {"bytes in Mi",
       {{.memory = Bytes::from_mib(1500), .percent = 100}},
       "tranche-gpu-1500mi-100"},
      {"together", {kHalf, kQuarter}, "tranche-gpu-together-50-25"},
      {"together, another order", {kQuarter, kHalf}, "tranche-gpu-together-25-50"},
      {"together, bytes between", {kQuarter, kBytes, kHalf}, "tranche-gpu-together-25-12gi-40-50"},
  };
  for (const auto& [name, shares, text] : cases) {
    SCOPED_TRACE(name);
    EXPECT_EQ(template_name(shares), text);
    EXPECT_EQ(parse_template_name(text), shares);
  }
}

TEST(TemplateName, OtherNamesAreNotOurs) {
  for (const auto* name : {"",
                           "tranche-gpu",
                           "tranche-gpu-",
                           "tranche-gpu-0",
                           "tranche-gpu-100",
                           "tranche-gpu-050",
                           "tranche-gpu-50-",
                           "tranche-gpu-50-25",
                           "tranche-gpu-together-50",
                           "tranche-gpu-together-",
                           "tranche-gpu-0gi-50",
                           "tranche-gpu-12gi",
                           "tranche-gpu-12gi-101",
                           "tranche-gpu-1024mi-50",
                           "tranche-gpu-99999999999999999999gi-1",
                           "tranche-gpu--50",
                           "tranche-gpu-+50",
                           "half-gpu",
                           "tranche-gpu-50.example.com",
                           "tranche-gpu-a100"}) {
    SCOPED_TRACE(name);
    EXPECT_FALSE(parse_template_name(name));
  }
}

TEST(TemplateName, IsNeverCut) {
  const std::vector<Share> many(33, Share{.memory = {}, .percent = 1});
  EXPECT_THAT(template_name(many).error().message(), HasSubstr("33 shares are too many"));
  const std::vector<Share> wide(20, Share{.memory = Bytes::from_mib(1000001), .percent = 5});
  EXPECT_FALSE(template_name(wide));
}

}  // namespace
}  // namespace tranche::admission::template_name_test
