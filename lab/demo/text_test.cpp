#include "lab/demo/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::demo::text_test {
namespace {

using testing::ElementsAre;

TEST(Table, AlignsColumnsAndTrimsLineEnds) {
  Table table({Table::Align::kLeft, Table::Align::kRight, Table::Align::kLeft});
  table.add({"node", "before", "label"});
  table.add({"gpu-l20", "1", "x"});
  table.add({"total", "11", ""});
  EXPECT_THAT(table.lines(), ElementsAre("node      before   label",  //
                                         "gpu-l20        1   x",      //
                                         "total         11"));
}

TEST(Table, ShortRowsAndNoRows) {
  Table table({Table::Align::kLeft, Table::Align::kRight});
  EXPECT_THAT(table.lines(), ElementsAre());
  table.add({"a", "12345"});
  table.add({"alone"});
  table.add({});
  EXPECT_THAT(table.lines(), ElementsAre("a       12345", "alone", ""));
}

TEST(Table, CountsWhatIsSeenNotBytes) {
  Table table({Table::Align::kRight, Table::Align::kLeft});
  table.add({"■■□", "x"});
  table.add({"abcd", "y"});
  EXPECT_THAT(table.lines(), ElementsAre(" ■■□   x", "abcd   y"));
}

TEST(Pad, FillsUpAndNeverCuts) {
  EXPECT_EQ(pad("ab", 4), "ab  ");
  EXPECT_EQ(pad("→", 3), "→  ");
  EXPECT_EQ(pad("abcde", 4), "abcde");
}

TEST(Wrap, BreaksAtSpaces) {
  struct Case {
    const char* name;
    const char* text;
    std::vector<std::string> lines;
  };
  const std::vector<Case> cases = {
      {"fits", "one two", {"one two"}},
      {"breaks", "one two three", {"one two", "three"}},
      {"exactly as wide", "12345 1234567 x", {"12345", "1234567", "x"}},
      {"a word that is too long stands alone", "a abcdefghij b", {"a", "abcdefghij", "b"}},
      {"nothing", "", {""}},
  };
  for (const auto& test : cases) EXPECT_EQ(wrap(test.text, 7), test.lines) << test.name;
}

TEST(Bar, ShowsEveryTranche) {
  EXPECT_EQ(bar(ascii_symbols(), 2, 5), "##...");
  EXPECT_EQ(bar(unicode_symbols(), 3, 3), "■■■");
  EXPECT_EQ(bar(ascii_symbols(), 0, 0), "");
}

}  // namespace
}  // namespace tranche::demo::text_test
