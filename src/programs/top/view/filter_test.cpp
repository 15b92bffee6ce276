#include "top/view/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "top/view/testing.h"

namespace tranche::top {
namespace {

using testing::container;
using testing::kGi;

// A container of 7.5 GiB of 8 that is told apart, on a T4; and one of which nothing is known.
class FilterTest : public ::testing::Test {
 protected:
  Row row(const usage::ContainerFigures& figures) const {
    return {.kind = RowKind::kContainer, .node = &node_, .gpu = &gpu_, .container = &figures};
  }
  bool matches(const std::string& text, const usage::ContainerFigures& figures) const {
    const auto filter = Filter::parse(text);
    EXPECT_TRUE(filter) << text << ": " << (filter ? "" : filter.error().message());
    return filter && filter->matches(row(figures));
  }

  fleet::FleetNode node_{.name = "gpu-1"};
  usage::GpuUsage gpu_ = testing::t4();
  usage::ContainerFigures known_ = container("train-0", 7 * kGi + kGi / 2);
  usage::ContainerFigures unknown_{.ns = "team-b", .pod = "x", .container = "c"};
};

TEST_F(FilterTest, Terms) {
  for (const auto* text : {"mem>7Gi",
                           "mem >= 7.5Gi",
                           "mem<8Gi",
                           "mem=7.5Gi",
                           "mem!=7Gi",
                           "fill>90",
                           "fill>90%",
                           "compute=48",
                           "compute<=48%",
                           "promised=25",
                           "waited<11",
                           "ns=team*",
                           "ns=team-?",
                           "ns!=team-b",
                           "pod=*rain-0",
                           "mechanism=time-slicing",
                           "tier=silver",
                           "node=gpu-1",
                           "model=\"Tesla T4\"",
                           "profile=\"\"",
                           "gpu=0",
                           "util>60",
                           "temp>70",
                           "power<60",
                           "state=used",
                           "train",
                           "TRAIN",
                           "\"esla t\"",
                           "owner=container",
                           "xid=?",
                           "mem!=?"}) {
    EXPECT_TRUE(matches(text, known_)) << text;
    EXPECT_FALSE(matches(std::string("!") + text, known_)) << text;
  }
}

TEST_F(FilterTest, TermsAreJoined) {
  EXPECT_TRUE(matches("mem>8Gi | ns=team-a", known_));
  EXPECT_FALSE(matches("mem>8Gi & ns=team-a", known_));
  // & binds closer than |.
  EXPECT_TRUE(matches("ns=team-a | ns=team-b & mem>8Gi", known_));
  EXPECT_FALSE(matches("(ns=team-a | ns=team-b) & mem>8Gi", known_));
  EXPECT_TRUE(matches("!(mem>8Gi | tier=gold) & !!train", known_));
}

TEST_F(FilterTest, UnknownIsNoNumber) {
  for (const auto* text : {"mem=0", "mem!=0", "mem<1Gi", "mem>=0", "compute<1", "waited=0"}) {
    EXPECT_FALSE(matches(text, unknown_)) << text;
  }
  EXPECT_TRUE(matches("mem=? & compute=? & state=unknown", unknown_));
  EXPECT_FALSE(matches("mem!=?", unknown_));
}

TEST_F(FilterTest, ErrorsNameTheColumnAndWhatToDo) {
  struct Case {
    std::string text;
    std::string message;
  };
  for (const auto& [text, message] : {
           Case{"", "column 1: there is nothing"},
           Case{"   ", "column 4: there is nothing"},
           Case{"memm>8Gi", "column 1: no field 'memm'; did you mean mem?"},
           Case{"ns=a & zzzz=1", "column 8: no field 'zzzz'; fields are node ns"},
           Case{"mem>much", "column 5: 'much' is no value of mem; write an amount: 8Gi, 512Mi"},
           Case{"mem>", "column 5: 'mem' is compared with nothing"},
           Case{"mem>-8Gi", "column 5: '-8Gi' is no value of mem"},
           Case{"compute>fast",
                "column 9: 'fast' is no value of compute; write percent: 50 or 50%"},
           Case{"gpu=nan", "column 5: 'nan' is no value of gpu"},
           Case{"mem>?", "column 5: '?' is no value of mem"},
           Case{"ns>a", "column 1: 'ns' is a text; compare it with = or !="},
           Case{"(ns=a", "column 6: the ( of column 1 is not closed"},
           Case{"ns=a)", "column 5: ')' does not belong here"},
           Case{"ns=a &", "column 7: a term is missing"},
           Case{"ns=a | & b", "column 8: '&' begins no term"},
           Case{"ns=\"a", "column 4: the \" is not closed"},
           Case{"a b", "column 3: 'b' does not belong here; join terms with & or |"},
           Case{"ns=a \x1b[2J(", "column 6: '?' does not belong here"},
       }) {
    const auto filter = Filter::parse(text);
    ASSERT_FALSE(filter) << text;
    EXPECT_THAT(filter.error().message(), ::testing::StartsWith(message)) << text;
  }
}

TEST_F(FilterTest, IsBounded) {
  EXPECT_FALSE(Filter::parse(std::string(Filter::kLongest + 1, 'a')));
  EXPECT_TRUE(Filter::parse(std::string(Filter::kLongest, 'a')));
  EXPECT_FALSE(Filter::parse(std::string(400, '(') + "a" + std::string(400, ')')));
  EXPECT_FALSE(Filter::parse(std::string(900, '!') + "a"));
  EXPECT_TRUE(Filter::parse(std::string(40, '!') + "a"));
}

TEST(MatchesWildcards, IsQuickAndRight) {
  struct Case {
    std::string pattern;
    std::string text;
    bool matches;
  };
  for (const auto& [pattern, text, expected] :
       {Case{"", "", true}, Case{"", "a", false}, Case{"*", "", true}, Case{"a*c", "abbc", true},
        Case{"a*c", "abbd", false}, Case{"?", "", false}, Case{"**a", "ba", true},
        Case{"*ab*ab", "abxab", true}, Case{"*ab?", "abab", false}}) {
    EXPECT_EQ(matches_wildcards(pattern, text), expected) << pattern << " " << text;
  }
  // Not exponential.
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(matches_wildcards(pattern + "b", std::string(5000, 'a')));
}

}  // namespace
}  // namespace tranche::top
