#include "cluster/label_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::cluster::label_selector_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LabelSelector, Selects) {
  const StringMap labels = {{"team", "a"}, {"gpu", ""}};
  const struct {
    const char* name;
    LabelSelector selector;
    bool selected;
  } cases[] = {
      {"no conditions", {}, true},
      {"equal", {{{"team", "a"}}}, true},
      {"other value", {{{"team", "b"}}}, false},
      {"absent", {{{"zone", ""}}}, false},
      {"In", {{}, {{"team", "In", {"b", "a"}}}}, true},
      {"In, other", {{}, {{"team", "In", {"b"}}}}, false},
      {"In, absent", {{}, {{"zone", "In", {""}}}}, false},
      {"NotIn", {{}, {{"team", "NotIn", {"b"}}}}, true},
      {"NotIn, listed", {{}, {{"team", "NotIn", {"a"}}}}, false},
      {"NotIn, absent", {{}, {{"zone", "NotIn", {"x"}}}}, true},
      {"Exists", {{}, {{"gpu", "Exists"}}}, true},
      {"Exists, absent", {{}, {{"zone", "Exists"}}}, false},
      {"DoesNotExist", {{}, {{"zone", "DoesNotExist"}}}, true},
      {"DoesNotExist, present", {{}, {{"gpu", "DoesNotExist"}}}, false},
      {"unknown operator", {{}, {{"team", "Near", {"a"}}}}, false},
      {"all must hold", {{{"team", "a"}}, {{"zone", "Exists"}}}, false},
  };
  for (const auto& c : cases) EXPECT_EQ(selects(c.selector, labels), c.selected) << c.name;
}

TEST(LabelSelector, Problems) {
  EXPECT_THAT(problems_of({{{"a", "b"}}, {{"c", "In", {"d"}}, {"e", "Exists"}}}, "s"), IsEmpty());
  EXPECT_THAT(
      problems_of(
          {{{"", "b"}}, {{"", "Exists"}, {"a", "in", {"b"}}, {"c", "In"}, {"d", "Exists", {"x"}}}},
          "s"),
      ElementsAre("s.matchLabels has an empty key", "s.matchExpressions[0].key is missing",
                  "s.matchExpressions[1].operator is \"in\", none of In, NotIn, Exists, "
                  "DoesNotExist",
                  "s.matchExpressions[2].values must not be empty with the operator In",
                  "s.matchExpressions[3].values must be empty with the operator Exists"));
}

TEST(LabelSelector, Text) {
  EXPECT_EQ(to_json(LabelSelector()), "{}");
  EXPECT_EQ(to_json({{{"a", "b"}}, {{"c", "In", {"d"}}, {"e", "Exists"}}}),
            R"({"matchExpressions":[{"key":"c","operator":"In","values":["d"]},)"
            R"({"key":"e","operator":"Exists"}],"matchLabels":{"a":"b"}})");
}

}  // namespace
}  // namespace tranche::cluster::label_selector_test
