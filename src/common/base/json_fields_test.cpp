#include "base/json_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

namespace tranche::json::json_fields_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// What `read` finds wrong in the text; empty: nothing.
std::string wrong(std::string_view text, const std::function<void(const Fields&)>& read) {
  const auto root = parse(text);
  EXPECT_TRUE(root) << text;
  std::optional<Error> error;
  if (root) read(Fields(*root, "", error));
  EXPECT_TRUE(!error || error->code == Code::kInvalidArgument) << text;
  return error ? error->what : "";
}

template <class T>
T good(std::string_view text, T (Fields::*read)(std::string_view) const) {
  const auto value =
      read_fields(*parse(text), [&](const Fields& fields) { return (fields.*read)("a"); });
  EXPECT_TRUE(value) << text << ": " << value.error().what;
  return value.value_or(T());
}

template <class T>
std::string refusal(const std::string& value) {
  return wrong("{\"a\":" + value + "}", [](const Fields& fields) { fields.need<T>("a"); });
}

TEST(JsonFields, WhatIsNeededIsRead) {
  EXPECT_EQ(good(R"({"a":"x\n"})", &Fields::need<std::string>), "x\n");
  EXPECT_EQ(good(R"({"a":""})", &Fields::need<std::string>), "");
  EXPECT_EQ(good(R"({"a":true})", &Fields::need<bool>), true);
  EXPECT_EQ(good(R"({"a":18446744073709551615})", &Fields::need<std::uint64_t>), UINT64_MAX);
  EXPECT_EQ(good(R"({"a":-9223372036854775808})", &Fields::need<std::int64_t>), INT64_MIN);
  EXPECT_EQ(good(R"({"a":-0})", &Fields::need<std::uint32_t>), 0U);
  EXPECT_EQ(good(R"({"a":1.5e3})", &Fields::need<double>), 1500.0);
  EXPECT_EQ(good(R"({"a":7})", &Fields::need<double>), 7.0);
  EXPECT_THAT(good(R"({"a":["x","","x"]})", &Fields::need<std::vector<std::string>>),
              ElementsAre("x", "", "x"));
  EXPECT_THAT(good(R"({"a":{"k":"v","":"w"}})", &Fields::need<Fields::StringMap>),
              ElementsAre(Pair("", "w"), Pair("k", "v")));
}

TEST(JsonFields, AnotherKindIsNamedWithItsPath) {
  EXPECT_EQ(refusal<std::string>("7"), "a is a number where a text is expected");
  EXPECT_EQ(refusal<std::string>("null"), "a is null where a text is expected");
  EXPECT_EQ(refusal<bool>("1"), "a is a number where true or false is expected");
  EXPECT_EQ(refusal<std::uint32_t>("true"), "a is true or false where a number is expected");
  EXPECT_EQ(refusal<std::uint32_t>(R"("1")"), "a is a text where a number is expected");
  EXPECT_EQ(refusal<double>("[]"), "a is a list where a number is expected");
  EXPECT_EQ(refusal<std::vector<std::string>>("{}"), "a is an object where a list is expected");
  EXPECT_EQ(refusal<std::vector<std::string>>(R"(["x",null])"),
            "a[1] is null where a text is expected");
  EXPECT_EQ(refusal<Fields::StringMap>("[]"), "a is a list where an object is expected");
  EXPECT_EQ(refusal<Fields::StringMap>(R"({"k":null})"),
            "a has null at \"k\" where a text is expected");
}

TEST(JsonFields, NoNumberIsCut) {
  EXPECT_EQ(refusal<std::uint8_t>("256"), "a is 256, no whole number from 0 to 255");
  EXPECT_EQ(refusal<std::uint8_t>("-1"), "a is -1, no whole number from 0 to 255");
  EXPECT_EQ(refusal<std::int32_t>("2147483648"),
            "a is 2147483648, no whole number from -2147483648 to 2147483647");
  EXPECT_EQ(refusal<std::uint64_t>("18446744073709551616"),
            "a is 18446744073709551616, no whole number from 0 to 18446744073709551615");
  EXPECT_EQ(refusal<std::int64_t>("9223372036854775808"),
            "a is 9223372036854775808, no whole number from -9223372036854775808 to "
            "9223372036854775807");
  EXPECT_EQ(refusal<std::uint64_t>("1.5"),
            "a is 1.5, no whole number from 0 to 18446744073709551615");
  EXPECT_EQ(refusal<std::uint8_t>("1e2"), "a is 1e2, no whole number from 0 to 255");
  EXPECT_EQ(refusal<std::uint8_t>(std::string(1000, '1')),
            "a is " + std::string(40, '1') + "..., no whole number from 0 to 255");
  EXPECT_EQ(refusal<double>("1e999"), "a is a number beyond those of a double");
}

TEST(JsonFields, BoundsAreThoseOfTheField) {
  const auto of = [](const char* text) {
    return wrong(text, [](const Fields& fields) { fields.need_number("a", 1, 10); });
  };
  EXPECT_EQ(of(R"({"a":1})"), "");
  EXPECT_EQ(of(R"({"a":10})"), "");
  EXPECT_EQ(of(R"({"a":0})"), "a is 0, no whole number from 1 to 10");
  EXPECT_EQ(of(R"({"a":11})"), "a is 11, no whole number from 1 to 10");
  EXPECT_EQ(of("{}"), "a is missing");
}

TEST(JsonFields, WhatIsMissingIsNamed) {
  const auto of = [](const std::function<void(const Fields&)>& read) { return wrong("{}", read); };
  EXPECT_EQ(of([](const Fields& fields) { fields.need<std::string>("a"); }), "a is missing");
  EXPECT_EQ(of([](const Fields& fields) { fields.need_list("a"); }), "a is missing");
  EXPECT_EQ(of([](const Fields& fields) { fields.need_object("a"); }), "a is missing");
  EXPECT_EQ(of([](const Fields& fields) { fields.need_object("a").need<bool>("b"); }),
            "a is missing");
  EXPECT_EQ(wrong(R"({"a":null})", [](const Fields& fields) { fields.require({"a", "b"}); }),
            "b is missing");
  for (const char* text : {"[]", "7", "null", "\"a\""}) {
    EXPECT_EQ(wrong(text, [](const Fields& fields) { fields.need<bool>("a"); }), "a is missing")
        << text;
  }
}

TEST(JsonFields, WhatMayBeAbsent) {
  const auto none = *parse(R"({"n":null})");
  const auto read = read_fields(none, [](const Fields& fields) {
    EXPECT_EQ(fields.need_or<std::string>("a", "b"), "b");
    EXPECT_EQ(fields.maybe<std::uint64_t>("a"), std::nullopt);
    EXPECT_EQ(fields.maybe<std::uint64_t>("n"), std::nullopt);
    EXPECT_FALSE(fields.has("a"));
    EXPECT_TRUE(fields.has("n"));
    EXPECT_EQ(fields.text("n"), "");
    EXPECT_EQ(fields.number("a"), 0);
    EXPECT_THAT(fields.map("n"), IsEmpty());
    EXPECT_THAT(fields.list("n"), IsEmpty());
    EXPECT_FALSE(fields.object("n").boolean("b"));
    return 1;
  });
  EXPECT_TRUE(read) << read.error().what;
  EXPECT_EQ(wrong(R"({"a":null})", [](const Fields& fields) { fields.need_or<int>("a", 1); }),
            "a is null where a number is expected");
  EXPECT_EQ(wrong(R"({"a":"1"})", [](const Fields& fields) { fields.maybe<int>("a"); }),
            "a is a text where a number is expected");
}

TEST(JsonFields, PathsGoThroughObjectsAndLists) {
  const auto of = [](const char* text) {
    return wrong(text, [](const Fields& fields) {
      for (const auto& item : fields.need_object("spec").need_list("items")) {
        item.need<std::string>("uuid");
      }
    });
  };
  EXPECT_EQ(of(R"({"spec":{"items":[]}})"), "");
  EXPECT_EQ(of(R"({"spec":{"items":[{"uuid":"a"},{"uuid":7}]}})"),
            "spec.items[1].uuid is a number where a text is expected");
  EXPECT_EQ(of(R"({"spec":{"items":[{"uuid":"a"},{}]}})"), "spec.items[1].uuid is missing");
  EXPECT_EQ(of(R"({"spec":{"items":["a"]}})"), "spec.items has a text where an object is expected");
  EXPECT_EQ(of(R"({"spec":{"items":null}})"), "spec.items is null where a list is expected");
  EXPECT_EQ(of(R"({"spec":{"items":{}}})"), "spec.items is an object where a list is expected");
  EXPECT_EQ(of(R"({"spec":[]})"), "spec is a list where an object is expected");
}

TEST(JsonFields, TheFirstErrorStays) {
  const auto what = wrong(R"({"a":1,"b":2})", [](const Fields& fields) {
    EXPECT_EQ(fields.need<std::string>("a"), "");
    fields.need<std::string>("b");
    fields.refuse("a and b do not fit");
  });
  EXPECT_EQ(what, "a is a number where a text is expected");
  EXPECT_EQ(wrong("{}", [](const Fields& fields) { fields.refuse("a and b do not fit"); }),
            "a and b do not fit");
}

TEST(JsonFields, OfEqualKeysTheLastCounts) {
  EXPECT_EQ(good(R"({"a":1,"a":"x"})", &Fields::need<std::string>), "x");
  EXPECT_EQ(refusal<std::string>(R"("x","a":1)"), "a is a number where a text is expected");
  EXPECT_THAT(good(R"({"a":{"k":"v","k":"w"}})", &Fields::need<Fields::StringMap>),
              ElementsAre(Pair("k", "w")));
}

}  // namespace
}  // namespace tranche::json::json_fields_test
