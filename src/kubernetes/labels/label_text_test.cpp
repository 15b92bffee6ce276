#include "labels/label_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tranche::labels::label_text_test {
namespace {

TEST(Sanitise, KeepsWhatLabelsMayHold) {
  struct Case {
    std::string name, input, want;
  };
  const std::vector<Case> cases = {
      {"words", "NVIDIA A100-SXM4-40GB", "NVIDIA-A100-SXM4-40GB"},
      {"brackets and slash", "Tesla T4 (rev1)/x", "Tesla-T4-rev1x"},
      {"spaces at the ends and doubled", " Foo (R)  Bar/Baz_1", "Foo-R-BarBaz_1"},
      {"a word of deleted characters only", "A (/) B", "A-B"},
      {"plus", "A+B", "AB"},
      {"tab and newline are deleted", "a\tb\nc", "abc"},
      {"not ASCII",
       "G\xC3\xA9"
       "force",
       "Gforce"},
      {"own dashes stay", "a - b", "a---b"},
      {"nothing left", " (/) ", ""},
      {"empty", "", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(sanitise(c.input), c.want) << c.name;
}

TEST(LabelValue, KubernetesRule) {
  struct Case {
    std::string name, value;
    bool want;
  };
  const std::vector<Case> cases = {
      {"empty", "", true},
      {"one letter", "a", true},
      {"63 characters", std::string(63, 'a'), true},
      {"64 characters", std::string(64, 'a'), false},
      {"dots and dashes inside", "550.163.01-a_b", true},
      {"dash first", "-a", false},
      {"dot last", "a.", false},
      {"a space", "a b", false},
      {"plus", "1g.5gb+me", false},
  };
  for (const auto& c : cases) EXPECT_EQ(is_label_value(c.value), c.want) << c.name;
}

}  // namespace
}  // namespace tranche::labels::label_text_test
