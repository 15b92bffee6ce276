#include "config/go_values.h"

#include <gtest/gtest.h>

namespace tranche::config::go::go_values_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(GoBool, TakesGoSpellingsAlone) {
  for (const auto* text : {"1", "t", "T", "TRUE", "true", "True"}) {
    EXPECT_EQ(parse_bool(text), true) << text;
  }
  for (const auto* text : {"0", "f", "F", "FALSE", "false", "False"}) {
    EXPECT_EQ(parse_bool(text), false) << text;
  }
  for (const auto* text : {"yes", "no", "on", "off", "y", "tRUE", "", " true", "2"}) {
    EXPECT_EQ(parse_bool(text), std::nullopt) << text;
  }
}

struct DurationCase {
  const char* text;
  std::optional<nanoseconds> expected;
};

class GoDuration : public testing::TestWithParam<DurationCase> {};

TEST_P(GoDuration, Parses) { EXPECT_EQ(parse_duration(GetParam().text), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(
    Forms, GoDuration,
    testing::Values(
        DurationCase{"0", 0ns}, DurationCase{"60s", 60s}, DurationCase{"1m0s", 60s},
        DurationCase{"1h2m3s", 3723s}, DurationCase{"1.5h", 90min}, DurationCase{".5s", 500ms},
        DurationCase{"1.s", 1s}, DurationCase{"-10s", -10s}, DurationCase{"+10s", 10s},
        DurationCase{"3us", 3us}, DurationCase{"3\u00b5s", 3us}, DurationCase{"3\u03bcs", 3us},
        DurationCase{"7ns", 7ns}, DurationCase{"0.000000001s", 1ns}, DurationCase{"100ms", 100ms},
        DurationCase{"9223372036854775807ns", nanoseconds(INT64_MAX)},
        DurationCase{"-9223372036854775808ns", nanoseconds(INT64_MIN)},
        DurationCase{"9223372036854775808ns", std::nullopt},
        DurationCase{"9999999999h", std::nullopt},
        DurationCase{"99999999999999999999s", std::nullopt}, DurationCase{"", std::nullopt},
        DurationCase{"-", std::nullopt}, DurationCase{"60", std::nullopt},
        DurationCase{"s", std::nullopt}, DurationCase{".s", std::nullopt},
        DurationCase{"1d", std::nullopt}, DurationCase{"1 s", std::nullopt},
        DurationCase{"infinite", std::nullopt}, DurationCase{"1h-2m", std::nullopt}));

TEST(GoDuration, FormatsAsGo) {
  const std::pair<nanoseconds, const char*> cases[] = {
      {0ns, "0s"},
      {60s, "1m0s"},
      {1500ms, "1.5s"},
      {250ms, "250ms"},
      {1001us, "1.001ms"},
      {15us, "15\u00b5s"},
      {7ns, "7ns"},
      {90min, "1h30m0s"},
      {100h, "100h0m0s"},
      {-90s, "-1m30s"},
      {nanoseconds(INT64_MIN), "-2562047h47m16.854775808s"},
  };
  for (const auto& [duration, text] : cases) EXPECT_EQ(format_duration(duration), text);
}

TEST(GoInt, TakesGoLiterals) {
  EXPECT_EQ(parse_int("10"), 10);
  EXPECT_EQ(parse_int("-3"), -3);
  EXPECT_EQ(parse_int("+3"), 3);
  EXPECT_EQ(parse_int("0x1F"), 31);
  EXPECT_EQ(parse_int("0b101"), 5);
  EXPECT_EQ(parse_int("0o17"), 15);
  EXPECT_EQ(parse_int("017"), 15);
  EXPECT_EQ(parse_int("0"), 0);
  EXPECT_EQ(parse_int("1_000"), 1000);
  EXPECT_EQ(parse_int("0_7"), 7);
  EXPECT_EQ(parse_int("-0x_1_F"), -31);
  for (const auto* text : {"", "-", "0x", "1.0", "ten", "9223372036854775808", " 1", "08", "--1",
                           "_1", "1_", "1__0", "-_1", "_0x1", "0_x1", "0_b1", "0x1_"}) {
    EXPECT_EQ(parse_int(text), std::nullopt) << text;
  }
}

TEST(GoUuid, IsLenientAsGoogleUuid) {
  const std::string plain = "01234567-89ab-cdef-0123-456789ABCDEF";
  EXPECT_TRUE(is_uuid(plain));
  EXPECT_TRUE(is_uuid("{" + plain + "}"));
  EXPECT_TRUE(is_uuid("urn:uuid:" + plain));
  EXPECT_TRUE(is_uuid("URN:UUID:" + plain));
  EXPECT_TRUE(is_uuid("0123456789abcdef0123456789abcdef"));
  EXPECT_FALSE(is_uuid(""));
  EXPECT_FALSE(is_uuid("urn:uuie:" + plain));
  EXPECT_FALSE(is_uuid(plain.substr(1)));
  EXPECT_FALSE(is_uuid("0123456789abcdef0123456789abcdeg"));
  EXPECT_FALSE(is_uuid("01234567089ab-cdef-0123-456789abcdef"));
}

}  // namespace
}  // namespace tranche::config::go::go_values_test
