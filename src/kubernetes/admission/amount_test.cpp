#include "admission/amount.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::admission::amount_test {
namespace {

using testing::HasSubstr;

TEST(Amount, ReadsFractionsAndWholeNumbers) {
  struct Case {
    const char* name;
    const char* json;
    Amount amount;
  };
  const Case cases[] = {
      {"a number", "0.5", {.hundredths = 50}},
      {"a text", R"("0.5")", {.hundredths = 50}},
      {"milli", R"("500m")", {.hundredths = 50}},
      {"an exponent", "5e-1", {.hundredths = 50}},
      {"a large exponent", R"("5E-1")", {.hundredths = 50}},
      {"an exponent that moves the point up", R"("0.0005e3")", {.hundredths = 50}},
      {"zeros behind", "0.5000000", {.hundredths = 50}},
      {"no zero before the point", R"(".5")", {.hundredths = 50}},
      {"a plus", R"("+0.5")", {.hundredths = 50}},
      {"the smallest", "0.01", {.hundredths = 1}},
      {"the smallest, milli", R"("10m")", {.hundredths = 1}},
      {"the largest", "0.99", {.hundredths = 99}},
      {"micro", R"("250000u")", {.hundredths = 25}},
      {"not rounded as a double", "0.29", {.hundredths = 29}},
      {"with kilo", R"("0.00057k")", {.hundredths = 57}},
      {"none", "0", {}},
      {"none with a point", "0.000", {}},
      {"less than none", R"("-0")", {}},
      {"one", "1", {.whole = 1}},
      {"one with a point", "1.0", {.whole = 1}},
      {"one by milli", R"("1000m")", {.whole = 1}},
      {"several", R"("16")", {.whole = 16}},
      {"ten", "1e1", {.whole = 10}},
      {"binary", R"("1Ki")", {.whole = 1024}},
  };
  for (const auto& [name, json, amount] : cases) {
    SCOPED_TRACE(name);
    const auto value = json::parse(json);
    ASSERT_TRUE(value);
    const auto read = parse_amount(*value);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, amount);
  }
}

TEST(Amount, ErrorsSayWhatToWriteInstead) {
  struct Case {
    const char* name;
    const char* json;
    const char* what;
    const char* hint;
  };
  const Case cases[] = {
      {"below a step", "0.005", "0.005 is no step of 0.01", "write 0.01 or more"},
      {"far below a step", "0.0001", "no step", "write 0.01 or more"},
      {"between steps", "0.505", "0.505 is no step", "write 0.5 or 0.51"},
      {"between steps, milli", R"("505m")", "505m is no step", "write 0.5 or 0.51"},
      {"just below one", "0.999", "no step", "write 0.99 or 1"},
      {"beyond one", "1.5", "neither a whole number nor below 1", "write 1 or 2 for whole GPUs"},
      {"beyond one, milli", R"("2500m")", "neither", "write 2 or 3"},
      {"negative", "-0.5", "-0.5 is negative", "write a whole number"},
      {"a negative whole", "-1", "is negative", "write a whole number"},
      {"a word", R"("half")", "half is no number", "such as 0.5"},
      {"nothing", R"("")", "is no number", "such as 0.5"},
      {"a percentage", R"("50%")", "50% is no number", "such as 0.5"},
      {"a comma", R"("0,5")", "is no number", "such as 0.5"},
      {"negative, binary", R"("-9Mi")", "is no number", "such as 0.5"},
      {"half a Ki", R"("0.5Ki")", "is no number", "such as 0.5"},
      {"too large", "1e30", "is no number", "such as 0.5"},
      {"true", "true", "it is true or false where a number is expected", "such as 0.5"},
      {"a list", "[1]", "it is a list", "such as 0.5"},
      {"control sequences", R"("\u001b[31m")", "?[31m is no number", "such as 0.5"},
  };
  for (const auto& [name, json, what, hint] : cases) {
    SCOPED_TRACE(name);
    const auto value = json::parse(json);
    ASSERT_TRUE(value);
    const auto read = parse_amount(*value);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    EXPECT_THAT(read.error().what, HasSubstr(what));
    EXPECT_THAT(read.error().hint, HasSubstr(hint));
  }
}

TEST(Amount, EveryStepIsReadAsItIsWritten) {
  for (int i = 1; i < 100; ++i) {
    const Amount amount{.hundredths = i};
    EXPECT_EQ(parse_amount(to_string(amount)), amount);
    EXPECT_EQ(parse_amount(std::to_string(i * 10) + "m"), amount);
    EXPECT_EQ(parse_amount(std::to_string(i) + "e-2"), amount);
  }
}

TEST(Amount, WritesWithoutNeedlessDigits) {
  EXPECT_EQ(to_string(Amount{.hundredths = 7}), "0.07");
  EXPECT_EQ(to_string(Amount{.hundredths = 70}), "0.7");
  EXPECT_EQ(to_string(Amount{.whole = 2}), "2");
  EXPECT_EQ(permille_text(333), "0.333");
  EXPECT_EQ(permille_text(1000), "1");
}

}  // namespace
}  // namespace tranche::admission::amount_test
