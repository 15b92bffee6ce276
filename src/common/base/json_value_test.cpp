#include "base/json_value.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace tranche::json::json_value_test {
namespace {

TEST(JsonValue, IsWrittenAsItWasBuilt) {
  struct Case {
    const char* name;
    Value value;
    const char* text;
  };
  const std::vector<std::string> words = {"a", "b"};
  const std::map<std::string, int> numbers = {{"x", 1}, {"y", -2}};
  const std::vector<Case> cases = {
      {"null", {nullptr}, "[null]"},
      {"nothing", Value(), "null"},
      {"truth", true, "true"},
      {"smallest", std::numeric_limits<std::int64_t>::min(), "-9223372036854775808"},
      {"largest", std::numeric_limits<std::uint64_t>::max(), "18446744073709551615"},
      {"text", "a\"\\\n\x01\x7f/\u00e4", "\"a\\\"\\\\\\n\\u0001\x7f/\u00e4\""},
      {"list", words, R"(["a","b"])"},
      {"map", numbers, R"({"x":1,"y":-2})"},
      {"empty object", Value::object(), "{}"},
      {"empty array", Value::array(), "[]"},
      {"object", {{"b", 1}, {"a", {{"c", nullptr}}}}, R"({"b":1,"a":{"c":null}})"},
      {"array of pairs", Value::array({{"a", 1}}), R"([["a",1]])"},
      {"array of an object", Value::array({{{"a", 1}}}), R"([{"a":1}])"},
      {"mixed", {1, "a"}, R"([1,"a"])"},
      {"raw", {{"a", Value::raw("[1.50]")}}, R"({"a":[1.50]})"},
  };
  for (const auto& [name, value, text] : cases) EXPECT_EQ(value.text(), text) << name;
}

TEST(JsonValue, MembersAreMadeWhereTheyAreNamed) {
  Value value;
  value["b"]["c"] = 1;
  value["a"].push_back("x");
  value["b"]["c"] = 2;
  EXPECT_EQ(value.text(), R"({"b":{"c":2},"a":["x"]})");
  EXPECT_EQ(value.text(Value::Order::kSorted), R"({"a":["x"],"b":{"c":2}})");
}

TEST(JsonValue, SizeCountsElementsAndMembers) {
  EXPECT_EQ(Value({{"a", 1}, {"b", 2}}).size(), 2U);
  EXPECT_EQ(Value::array({1, 2, 3}).size(), 3U);
  EXPECT_TRUE(Value::object().empty());
  EXPECT_TRUE(Value().empty());
  EXPECT_EQ(Value("text").size(), 0U);
}

TEST(JsonValue, LinesAreIndented) {
  const Value value = {{"a", {1, 2}}, {"b", Value::object()}, {"c", {{"d", Value::array()}}}};
  EXPECT_EQ(value.lines(),
            "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {},\n  \"c\": {\n    \"d\": []\n  }\n}");
}

// As nlohmann's library writes them.
TEST(JsonValue, FractionsComeBackTheSame) {
  struct Case {
    double value;
    const char* text;
  };
  const std::vector<Case> cases = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1, "1.0"},
      {-12.5, "-12.5"},
      {0.1, "0.1"},
      {1.0 / 3, "0.3333333333333333"},
      {123456.789, "123456.789"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {1.25e-7, "1.25e-07"},
      {1e14, "100000000000000.0"},
      {123456789012345.0, "123456789012345.0"},
      {1e15, "1e+15"},
      {1234567890123456.0, "1.234567890123456e+15"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {5e-324, "5e-324"},
      {std::numeric_limits<double>::infinity(), "null"},
      {std::numeric_limits<double>::quiet_NaN(), "null"},
  };
  for (const auto& [value, text] : cases) EXPECT_EQ(Value(value).text(), text);
}

TEST(JsonValue, WhatWasReadIsWrittenAgain) {
  const std::string text =
      R"({"b":[1.50,-0,1e400,true,null,{}],"a":{"x":"\n","":[]},"c":18446744073709551616})";
  auto value = Value::copy(*parse(text));
  EXPECT_EQ(value.text(), text);
  EXPECT_EQ(value.size(), 3U);
  value["a"]["x"] = 1;
  EXPECT_EQ(value.text(),
            R"({"b":[1.50,-0,1e400,true,null,{}],"a":{"x":1,"":[]},"c":18446744073709551616})");
  EXPECT_EQ(Value::copy(*parse(R"({"a":1,"b":2,"\u0061":3})")).text(), R"({"b":2,"a":3})");
  EXPECT_EQ(Value::copy(View()).text(), "null");
}

TEST(JsonValue, CopiesAreApart) {
  Value value = {{"a", 1}};
  Value copy = value;
  copy["a"] = value;
  value["a"] = 3;
  EXPECT_EQ(copy.text(), R"({"a":{"a":1}})");
}

TEST(JsonValue, WhatIsNoUtf8IsReplaced) {
  struct Case {
    const char* name;
    std::string text;
    std::string written;
  };
  const std::string bad = "\xEF\xBF\xBD";
  const std::vector<Case> cases = {
      {"a byte alone", "a\xFFz", "a" + bad + "z"},
      {"a continuation alone", "\x80", bad},
      {"cut in the middle", "\xE2\x82z", bad + "z"},
      {"cut at the end", "\xF0\x9F\x98", bad},
      {"overlong", "\xC0\xAF", bad + bad},
      {"a surrogate", "\xED\xA0\x80", bad + bad + bad},
      {"beyond the last", "\xF4\x90\x80\x80", bad + bad + bad + bad},
      {"two begun", "\xE2\xE2\x82\xAC", bad + "\xE2\x82\xAC"},
  };
  for (const auto& [name, text, written] : cases) {
    EXPECT_EQ(Value(text).text(), '"' + written + '"') << name;
  }
}

}  // namespace
}  // namespace tranche::json::json_value_test
