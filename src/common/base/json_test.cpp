#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::json::json_test {
namespace {

using testing::HasSubstr;

View view(std::string_view text) {
  const auto parsed = parse(text);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().what);
  return parsed ? *parsed : View();
}

TEST(Json, RefusesWhatIsNoJson) {
  const struct {
    const char* name;
    std::string text;
    const char* why;
  } cases[] = {
      {"empty", "", "byte 0: the text ends too early"},
      {"word", "nul", "byte 0: no value"},
      {"cut object", R"({"a":1)", "byte 6: the text ends too early"},
      {"cut string", R"({"a)", "byte 3: the text ends too early"},
      {"cut escape", R"(["\u12)", "byte 6: the text ends too early"},
      {"two values", "{} {}", "byte 3: something follows"},
      {"comma at the end of an object", R"({"a":1,})", "byte 7: a key is expected"},
      {"comma at the end of a list", "[1,]", "byte 3: no value"},
      {"no colon", R"({"a" 1})", "byte 5: ':' is expected"},
      {"no comma", "[1 2]", "byte 3: ',' or ']' is expected"},
      {"single quotes", "{'a':1}", "byte 1: a key is expected"},
      {"comment", "[1] // one", "byte 4: something follows"},
      {"leading zero", "[01]", "byte 2: ',' or ']' is expected"},
      {"lone minus", "[-]", "byte 2: a digit is expected"},
      {"point without digits", "[1.]", "byte 3: a digit is expected"},
      {"exponent without digits", "[1e+]", "byte 4: a digit is expected"},
      {"NaN", "[NaN]", "byte 1: no value"},
      {"unknown escape", R"(["\x41"])", "no such escape"},
      {"bare newline", "[\"a\nb\"]", "byte 3: a control character"},
      {"latin-1", "[\"\xe9\"]", "byte 2: no UTF-8"},
      {"overlong slash", "[\"\xc0\xaf\"]", "byte 2: no UTF-8"},
      {"surrogate in UTF-8", "[\"\xed\xa0\x80\"]", "byte 2: no UTF-8"},
      {"above the last code point", "[\"\xf4\x90\x80\x80\"]", "byte 2: no UTF-8"},
      {"too deep", std::string(1000, '[') + std::string(1000, ']'), "nested too deep"},
      {"NUL", std::string("[1\0]", 4), "byte 2: ',' or ']' is expected"},
  };
  for (const auto& test : cases) {
    const auto parsed = parse(test.text);
    ASSERT_FALSE(parsed) << test.name;
    EXPECT_EQ(parsed.error().code, Code::kInvalidArgument) << test.name;
    EXPECT_THAT(parsed.error().what, HasSubstr(test.why)) << test.name;
  }
}

TEST(Json, FindsMembersAtAnyDepthAndSpacing) {
  const auto root = view(" { \"a\" : { \"b\" : [ 1 , {\"c\":\"d\"} ] } , \"e\":null } ");
  EXPECT_EQ(root.kind(), Kind::kObject);
  const auto list = root.at({"a", "b"});
  ASSERT_TRUE(list);
  EXPECT_EQ(list->text(), R"([ 1 , {"c":"d"} ])");
  const auto elements = list->elements();
  ASSERT_EQ(elements.size(), 2U);
  EXPECT_EQ(elements[0].as_int(), 1);
  EXPECT_EQ(elements[1].find("c")->as_string(), "d");
  EXPECT_EQ(root.find("e")->kind(), Kind::kNull);
  EXPECT_FALSE(root.find("x"));
  EXPECT_FALSE(root.at({"a", "x", "y"}));
  EXPECT_FALSE(list->find("a"));
  EXPECT_TRUE(root.elements().empty());
}

TEST(Json, OfEqualKeysTheLastCounts) {
  const auto root = view(R"({"a":1,"b":2,"\u0061":3})");
  EXPECT_EQ(root.find("a")->as_int(), 3);
  const auto members = root.members();
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(members[2].key, "a");
  EXPECT_EQ(root.text().substr(members[1].begin, members[1].end - members[1].begin), R"("b":2)");
}

TEST(Json, BracesAndQuotesInTextsDoNotCount) {
  const auto root = view(R"({"a":"}\"]{","b\\":["],\\"],"c":3})");
  EXPECT_EQ(root.find("a")->as_string(), "}\"]{");
  EXPECT_EQ(root.find("b\\")->elements().at(0).as_string(), "],\\");
  EXPECT_EQ(root.find("c")->as_int(), 3);
}

TEST(Json, ReadsTexts) {
  const struct {
    const char* name;
    const char* text;
    std::string expected;
  } cases[] = {
      {"plain", R"("abc")", "abc"},
      {"escapes", R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
      {"two bytes", R"("\u00e9")", "\xc3\xa9"},
      {"three bytes", R"("\u20AC")", "\xe2\x82\xac"},
      {"pair of surrogates", R"("\ud83d\ude00x")", "\xf0\x9f\x98\x80x"},
      {"lone high surrogate", R"("\ud83dx")", "\xef\xbf\xbdx"},
      {"lone low surrogate", R"("\ude00")", "\xef\xbf\xbd"},
      {"high surrogate and another character", R"("\ud83d\u0041")",
       "\xef\xbf\xbd"
       "A"},
      {"NUL", R"("a\u0000b")", std::string("a\0b", 3)},
      {"raw UTF-8", "\"\xc3\xa9\"", "\xc3\xa9"},
      {"empty", R"("")", ""},
  };
  for (const auto& test : cases) EXPECT_EQ(view(test.text).as_string(), test.expected) << test.name;
}

TEST(Json, ReadsNumbersAndWords) {
  EXPECT_EQ(view("-9223372036854775808").as_int(), INT64_MIN);
  EXPECT_EQ(view("9223372036854775808").as_int(), std::nullopt);
  EXPECT_EQ(view("1.0").as_int(), std::nullopt);
  EXPECT_EQ(view("1e3").as_int(), std::nullopt);
  EXPECT_EQ(view("\"1\"").as_int(), std::nullopt);
  EXPECT_EQ(view("true").as_bool(), true);
  EXPECT_EQ(view("false").as_bool(), false);
  EXPECT_EQ(view("0").as_bool(), std::nullopt);
  EXPECT_EQ(view("1").as_string(), std::nullopt);
  EXPECT_EQ(View().kind(), Kind::kNull);
}

TEST(Json, ReadsTheWholeRangeOfNumbers) {
  EXPECT_EQ(view("18446744073709551615").as_uint(), UINT64_MAX);
  EXPECT_EQ(view("18446744073709551616").as_uint(), std::nullopt);
  EXPECT_EQ(view("-0").as_uint(), 0U);
  EXPECT_EQ(view("-1").as_uint(), std::nullopt);
  EXPECT_EQ(view("1.0").as_uint(), std::nullopt);
  EXPECT_EQ(view("\"1\"").as_uint(), std::nullopt);
  EXPECT_EQ(view("-1.25e2").as_double(), -125.0);
  EXPECT_EQ(view("7").as_double(), 7.0);
  EXPECT_EQ(view("1e999").as_double(), std::nullopt);
  EXPECT_EQ(view("true").as_double(), std::nullopt);
}

TEST(Json, StrictlyNothingIsReadThatNoProgramCanHold) {
  const struct {
    const char* name;
    const char* text;
    const char* why;  // empty: it is taken
  } cases[] = {
      {"pair", R"(["\ud83d\ude00"])", ""},
      {"two pairs", R"(["\ud83d\ude00\uD83D\uDE00"])", ""},
      {"no surrogates", R"(["\ud7ff\ue000\u0041"])", ""},
      {"lone high", R"(["\ud83dx"])", "byte 8: half of a pair"},
      {"high at the end", R"(["\ud83d"])", "half of a pair"},
      {"two high", R"(["\ud83d\ud83d"])", "half of a pair"},
      {"high and another escape", R"(["\ud83d\n"])", "half of a pair"},
      {"lone low", R"(["\ude00"])", "half of a pair"},
      {"cut", R"(["\ud83d\u12)", "the text ends too early"},
      {"in a key", R"({"\ud83d":1})", "half of a pair"},
      {"largest", "1.7976931348623157e308", ""},
      {"too large", "[1e309]", "byte 1: a number that no program can hold"},
      {"too large below zero", "-1e999", "a number that no program can hold"},
      {"nearly zero", "1e-999", ""},
      {"many digits", "123456789012345678901234567890", ""},
  };
  for (const auto& test : cases) {
    EXPECT_TRUE(parse(test.text) || std::string_view(test.name) == "cut") << test.name;
    const auto parsed = parse_strict(test.text);
    EXPECT_EQ(parsed.has_value(), std::string_view(test.why).empty()) << test.name;
    EXPECT_THAT(parsed ? "" : parsed.error().what, HasSubstr(test.why)) << test.name;
  }
}

TEST(Json, EmptyContainers) {
  EXPECT_TRUE(view("{ }").members().empty());
  EXPECT_TRUE(view("[ ]").elements().empty());
  EXPECT_THAT(view("[[],{}]").elements().at(1).text(), "{}");
}

TEST(Json, DeepButAllowed) {
  const std::string text = std::string(kMaxDepth, '[') + std::string(kMaxDepth, ']');
  EXPECT_TRUE(parse(text));
}

}  // namespace
}  // namespace tranche::json::json_test
