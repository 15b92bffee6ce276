#include "metrics/value.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

namespace tranche::metrics::value_test {
namespace {

std::string text(const Value& value) {
  std::string out;
  append(out, value);
  return out;
}

struct Case {
  const char* name;
  Value value;
  const char* text;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Numbers : public testing::TestWithParam<Case> {};

TEST_P(Numbers, AreWritten) { EXPECT_EQ(text(GetParam().value), GetParam().text); }

INSTANTIATE_TEST_SUITE_P(
    Decimals, Numbers,
    testing::Values(Case{"zero", whole(0), "0"},
                    Case{"largest", whole(18446744073709551615U), "18446744073709551615"},
                    Case{"beyond_53_bits", whole(9007199254740993), "9007199254740993"},
                    Case{"zeros_at_the_end_of_an_integer", whole(1000), "1000"},
                    Case{"zero_with_places", Decimal{0, 9}, "0"},
                    Case{"smallest_fraction", Decimal{1, 9}, "0.000000001"},
                    Case{"trailing_zeros", Decimal{1'500'000'000, 9}, "1.5"},
                    Case{"no_fraction", Decimal{2'000, 3}, "2"},
                    Case{"as_many_digits_as_places", Decimal{123, 3}, "0.123"},
                    Case{"ten_percent", Decimal{10, 2}, "0.1"},
                    Case{"most_places", Decimal{18446744073709551615U, 19},
                         "1.8446744073709551615"}),
    [](const auto& c) { return c.param.name; });

INSTANTIATE_TEST_SUITE_P(Doubles, Numbers,
                         testing::Values(Case{"short_form", 0.1, "0.1"}, Case{"one", 1.0, "1"},
                                         Case{"negative", -2.5, "-2.5"},
                                         Case{"large", 1e22, "1e+22"}),
                         [](const auto& c) { return c.param.name; });

TEST(Values, NotFinite) {
  EXPECT_FALSE(is_finite(std::nan("")));
  EXPECT_FALSE(is_finite(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(is_finite(-std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(is_finite(std::numeric_limits<double>::max()));
  EXPECT_TRUE(is_finite(whole(18446744073709551615U)));
}

TEST(Values, SecondsAreExact) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(text(*seconds(nanoseconds(9'223'372'036'854'775'807))), "9223372036.854775807");
  EXPECT_EQ(text(*seconds(nanoseconds(0))), "0");
  EXPECT_FALSE(seconds(nanoseconds(-1)));
}

RC_GTEST_PROP(Values, DoublesReadBack, (double number)) {
  RC_PRE(std::isfinite(number));
  RC_ASSERT(std::strtod(text(number).c_str(), nullptr) == number);
}

}  // namespace
}  // namespace tranche::metrics::value_test
