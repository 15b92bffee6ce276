#include "base/yaml.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::yaml::yaml_test {
namespace {

Document parsed(std::string_view text) {
  auto document = parse(text, "f");
  EXPECT_TRUE(document) << document.error().what;
  return document ? *std::move(document) : Document{};
}

TEST(Yaml, KeepsLinesAndOrder) {
  const auto document = parsed("b: 1\na:\n  - x\n  - y: 2\n");
  ASSERT_EQ(document.root.entries.size(), 2U);
  EXPECT_EQ(document.root.entries[0].key, "b");
  EXPECT_EQ(document.root.entries[1].line, 2);
  EXPECT_EQ(document.root.find("a")->items[1].find("y")->line, 4);
}

TEST(Yaml, LastDuplicateWinsAndIsNoted) {
  const auto document = parsed("a: 1\na: 2\n");
  EXPECT_EQ(document.root.find("a")->scalar, "2");
  ASSERT_EQ(document.duplicates.size(), 1U);
  EXPECT_EQ(document.duplicates[0].first_line, 1);
  EXPECT_EQ(document.duplicates[0].line, 2);
}

TEST(Yaml, MergesAnchorsUnderWrittenKeys) {
  const auto document = parsed("x: &x {a: 1, b: 2}\ny:\n  b: 3\n  <<: *x\n");
  EXPECT_EQ(document.root.find("y")->find("a")->scalar, "1");
  EXPECT_EQ(document.root.find("y")->find("b")->scalar, "3");
}

TEST(Yaml, ReadsTheFirstDocumentOnly) {
  EXPECT_EQ(parsed("a: 1\n---\na: 2\n").root.find("a")->scalar, "1");
}

TEST(Yaml, NotesADocumentThatIsNotRead) {
  const std::pair<const char*, int> cases[] = {
      {"a: 1\n---\na: 2\n", 3},
      {"---\n---\na: 2\n", 3},
      {"a: 1\n...\na: 2\n", 3},
      {"a: 1\n---\nb: [\n", 4},
      {"a: 1\n", 0},
      {"# why\n---\na: 1\n---\n# nothing\n---\n", 0},
      {"---\na: 1\n...\n", 0},
      {"", 0},
  };
  for (const auto& [text, line] : cases) EXPECT_EQ(parsed(text).next_line, line) << text;
}

TEST(Yaml, WhatSaysNothing) {
  const std::pair<std::string, bool> cases[] = {
      {"", true},
      {" \t\r\n", true},
      {"\t", true},
      {"\xEF\xBB\xBF", true},
      {"\xEF\xBB\xBF# version: v1\n", true},
      {"# version: v1\n# sharing: later\n", true},
      {"---", true},
      {"---\n...\n", true},
      {"...\n", true},
      {"%YAML 1.2\n---\n", true},
      {"null", true},
      {"~", true},
      {"{}", true},
      {"!!null ''", true},
      {"version:\nsharing:\n#  timeSlicing:\n", true},
      {"{sharing: {}, flags: ~}", true},
      // Only the first document is read.
      {"---\n# nothing\n---\nversion: v1\n", true},
      {"version: v1", false},
      {"version: ''", false},
      {"sharing: {timeSlicing: }", false},
      {"imex: {channelIDs: []}", false},
      {"''", false},
      {"[]", false},
      {"a: [", false},
  };
  for (const auto& [text, nothing] : cases) EXPECT_EQ(says_nothing(text), nothing) << text;
}

TEST(Yaml, WhatIsNoTextIsRefused) {
  const std::pair<std::string, const char*> cases[] = {
      {std::string("a: 1\n\0", 6), "f:2: byte 0x00 here is no text"},
      {"a: 1\n\x04"
       "b: 2\n",
       "f:2: byte 0x04 here is no text"},
      {"\xff\xfe"
       "a",
       "f:1: byte 0xff here is no text"},
      {"a: \xc3(", "f:1: byte 0xc3 here is no text"},
  };
  for (const auto& [text, what] : cases) {
    for (const auto& error : {parse(text, "f").error(), parse_all(text, "f").error()}) {
      EXPECT_EQ(error.what, what);
      EXPECT_EQ(error.hint, "write the file in UTF-8");
    }
  }
}

TEST(Yaml, EmptyIsNull) {
  EXPECT_EQ(parsed("").root.kind, Kind::kNull);
  EXPECT_EQ(parsed("# nothing\n").root.kind, Kind::kNull);
  EXPECT_EQ(parsed("a: ~").root.find("a")->kind, Kind::kNull);
}

TEST(Yaml, JsonIsYaml) {
  const auto document = parsed(R"({"version": "v1", "list": [1, true, null]})");
  EXPECT_TRUE(document.root.find("version")->quoted);
  EXPECT_EQ(document.root.find("list")->items[2].kind, Kind::kNull);
}

TEST(Yaml, RefusalsNameTheLine) {
  for (const auto* text : {"a: 1\nb: [", "a: 1\n? [x]\n: 2\n", "a: 1\nb: *nope\n"}) {
    const auto document = parse(text, "file.yaml");
    ASSERT_FALSE(document) << text;
    EXPECT_TRUE(document.error().what.starts_with("file.yaml:2: ") ||
                document.error().what.starts_with("file.yaml:3: "))
        << document.error().what;
  }
}

TEST(Yaml, AliasBombIsRefused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) text += (k ? ", *a" : "*a") + std::to_string(i - 1);
    text += "]\n";
  }
  const auto document = parse(text, "f");
  ASSERT_FALSE(document);
  EXPECT_NE(document.error().what.find("values"), std::string::npos);
}

// One text that aliases repeat: as a value, as a key, by merging, in the documents of a stream.
TEST(Yaml, AliasesOfALongTextAreRefused) {
  const std::string text(std::size_t{1} << 20U, 'x');
  const auto repeated = [](std::string_view one) {
    std::string all;
    for (int i = 0; i < 5; ++i) all += fmt::format("- {}\n", one);
    return all;
  };
  const std::pair<const char*, std::string> cases[] = {
      {"value", "- &a " + text + "\n" + repeated("*a")},
      {"mapping", "- &a {k: " + text + "}\n" + repeated("*a")},
      {"merged", "- &a {k: " + text + "}\n" + repeated("<<: *a")},
      {"key", "- &a '" + text.substr(0, 1000) + "'\n- {k: {" +
                  [] {
                    std::string keys;
                    for (int i = 0; i < 5000; ++i) keys += "? *a : 1, ";
                    return keys;
                  }() +
                  "}}\n"},
      {"anchors alone", repeated("&a " + text)},
  };
  for (const auto& [name, file] : cases) {
    const auto document = parse(file, "f");
    ASSERT_FALSE(document) << name;
    EXPECT_THAT(document.error().what,
                testing::HasSubstr("anchors and aliases copy more than 4 MiB of text"))
        << name;
  }
  std::string stream;
  for (int i = 0; i < 5; ++i) stream += "---\n- &a " + text + "\n";
  EXPECT_TRUE(parse(stream, "f")) << "only the first document is read";
  EXPECT_FALSE(parse_all(stream, "f"));
}

TEST(Yaml, DeepNestingIsRefusedNotCrashed) { EXPECT_FALSE(parse(std::string(100'000, '['), "f")); }

struct ScalarCase {
  const char* text;
  std::optional<std::int64_t> integer;
  std::optional<bool> boolean;
};

TEST(Yaml, ScalarsAsYaml11) {
  const ScalarCase cases[] = {
      {"4", 4, {}},         {"'4'", {}, {}},   {"4.0", 4, {}},
      {"1_000", 1000, {}},  {"-3", -3, {}},    {"0x10", 16, {}},
      {"010", 8, {}},       {"1e3", 1000, {}}, {"4.5", {}, {}},
      {"yes", {}, true},    {"on", {}, true},  {"off", {}, false},
      {"\"true\"", {}, {}}, {"nope", {}, {}},  {"9223372036854775808", {}, {}},
  };
  for (const auto& c : cases) {
    const auto node = parsed(c.text).root;
    EXPECT_EQ(as_int(node), c.integer) << c.text;
    EXPECT_EQ(as_bool(node), c.boolean) << c.text;
  }
}

}  // namespace
}  // namespace tranche::yaml::yaml_test
