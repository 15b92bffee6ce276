#include "base/yaml_write.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::yaml::yaml_write_test {
namespace {

Node read(std::string_view text) {
  auto document = parse(text, "test");
  EXPECT_TRUE(document) << document.error().message();
  return document ? std::move(document->root) : Node{};
}

TEST(YamlWrite, ListsStandAtTheIndentOfTheirKey) {
  EXPECT_EQ(write(read("a: {b: [1, {c: d, e: []}], f: {}}\ng:\n")),
            "a:\n"
            "  b:\n"
            "  - 1\n"
            "  - c: d\n"
            "    e: []\n"
            "  f: {}\n"
            "g: null\n");
  EXPECT_EQ(write(read("[[1, 2], [3]]")), "- - 1\n  - 2\n- - 3\n");
}

TEST(YamlWrite, WhatIsInQuotesStaysText) {
  EXPECT_EQ(write(read("a: '50'\nb: 50\nc: \"x\\ty\"\n'on': 'it''s'\n'*': 0.50\n")),
            "a: \"50\"\nb: 50\nc: \"x\\ty\"\n\"on\": \"it's\"\n\"*\": 0.50\n");
}

TEST(YamlWrite, TextOfSeveralLinesIsABlock) {
  EXPECT_EQ(write(read("a: |\n  x: 1\n\n  y: 2\nb: |-\n  p\n  q\n")),
            "a: |\n  x: 1\n\n  y: 2\nb: |-\n  p\n  q\n");
}

struct Case {
  const char* name;
  const char* text;
};

class YamlWritten : public testing::TestWithParam<Case> {};

void expect_same(const Node& a, const Node& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.scalar, b.scalar);
  EXPECT_EQ(is_text(a), is_text(b));
  ASSERT_EQ(a.items.size(), b.items.size());
  ASSERT_EQ(a.entries.size(), b.entries.size());
  for (std::size_t i = 0; i < a.items.size(); ++i) expect_same(a.items[i], b.items[i]);
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    EXPECT_EQ(a.entries[i].key, b.entries[i].key);
    expect_same(a.entries[i].value, b.entries[i].value);
  }
}

TEST_P(YamlWritten, ReadsBackAsTheSame) {
  const auto tree = read(GetParam().text);
  const auto again = write(tree);
  expect_same(read(again), tree);
  EXPECT_EQ(write(read(again)), again);
}

INSTANTIATE_TEST_SUITE_P(
    All, YamlWritten,
    testing::Values(Case{"nothing", ""}, Case{"scalar", "just text"},
                    Case{"folded", "a: >\n  one\n  two\n\n  three\n"},
                    Case{"plainOfTwoLines", "a: one\n  two\n\n  three\n"},
                    Case{"lineEndsAlone",
                         "a: \"\\n\"\nb: \"x\\n\\n\"\nc: \"\\nx\"\nd: \"x \\ny\"\n"},
                    Case{"indented", "a: |2\n    x\n  y\n"}, Case{"tabs", "a: \"x\\n\\ty\\n\"\n"},
                    Case{"keys", "'a b': 1\n'null': 2\n? ''\n: 3\n'true': 4\n'1': 5\n"},
                    Case{"numbers", "[1, '1', 0x1F, 1e3, .5, 1_000, '', ~, 'null']"},
                    Case{"json", "{\"a\": [true, null, -0.5], \"b\": \"\\u00e4\"}"},
                    Case{"anchors", "a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n"}),
    [](const auto& one) { return one.param.name; });

TEST(YamlWrite, JsonIsWhatKubernetesReads) {
  EXPECT_EQ(
      to_json(read("a: [yes, 'yes', 0.5, 0.50, '0.5', 010, 0x10, ~, 12Gi, .5]\nb: {}\nc: []\n"))
          .text(),
      R"({"a":[true,"yes",0.5,0.50,"0.5",8,16,null,"12Gi",".5"],"b":{},"c":[]})");
}

TEST(YamlAll, EveryDocumentWithLinesOfTheStream) {
  const auto all = parse_all("a: 1\n---\n# none\n---\nb: 2\n...\n---\n- 3\n", "test");
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 3U);
  EXPECT_EQ((*all)[1].root.entries[0].line, 5);
  EXPECT_EQ((*all)[2].root.line, 8);
}

TEST(YamlAll, TheLimitHoldsForAllTogether) {
  std::string text;
  for (int i = 0; i < 12; ++i) {
    text += "---\n[";
    for (int k = 0; k < 10'000; ++k) text += "1,";
    text += "]\n";
  }
  const auto all = parse_all(text, "test");
  ASSERT_FALSE(all);
  EXPECT_THAT(all.error().what, testing::HasSubstr("more than 100000 values"));
}

// Each anchor keeps a copy of all that is below it.
TEST(YamlAll, AnchorsInsideOfEachOtherAreBounded) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "[&a" + std::to_string(i) + " ";
  text += "[";
  for (int i = 0; i < 5'000; ++i) text += "1,";
  text += "]" + std::string(400, ']');
  EXPECT_FALSE(parse_all(text, "test"));
}

}  // namespace
}  // namespace tranche::yaml::yaml_write_test
