#include "metrics/exposition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "metrics/testing.h"

namespace tranche::metrics::exposition_test {
namespace {

std::string page_of(Format format) {
  Exposition out(format);
  out.family({"seconds_spent_seconds_total", Type::kCounter, "A \"quoted\" help \\ of\n2 lines.",
              "seconds"});
  out.line(LabelText().add("pod", "a").text(), Decimal{1'500, 3});
  out.family({"REPLAY_COUNTER", Type::kCounter, "No _total."});
  out.line({}, whole(7));
  out.family({"never_written", Type::kGauge, "A family without lines."});
  out.family({"build_info", Type::kInfo, "Release."});
  out.line(LabelText().add("version", "1").text(), whole(1));
  return std::move(out).finish();
}

TEST(Exposition, PrometheusText) {
  EXPECT_EQ(page_of(Format::kPrometheusText),
            R"(# HELP seconds_spent_seconds_total A "quoted" help \\ of\n2 lines.
# TYPE seconds_spent_seconds_total counter
seconds_spent_seconds_total{pod="a"} 1.5
# HELP REPLAY_COUNTER No _total.
# TYPE REPLAY_COUNTER counter
REPLAY_COUNTER 7
# HELP build_info Release.
# TYPE build_info gauge
build_info{version="1"} 1
)");
}

TEST(Exposition, OpenMetrics) {
  EXPECT_EQ(page_of(Format::kOpenMetrics),
            R"(# HELP seconds_spent_seconds A \"quoted\" help \\ of\n2 lines.
# TYPE seconds_spent_seconds counter
# UNIT seconds_spent_seconds seconds
seconds_spent_seconds_total{pod="a"} 1.5
# HELP REPLAY_COUNTER No _total.
# TYPE REPLAY_COUNTER unknown
REPLAY_COUNTER 7
# HELP build Release.
# TYPE build info
build_info{version="1"} 1
# EOF
)");
}

TEST(Exposition, AnEmptyPage) {
  EXPECT_EQ(Exposition(Format::kPrometheusText).finish(), "");
  EXPECT_EQ(Exposition(Format::kOpenMetrics).finish(), "# EOF\n");
}

TEST(Exposition, WhatIsNotFiniteIsNoLine) {
  Exposition out(Format::kPrometheusText);
  out.family({"a", Type::kGauge, "Help."});
  out.line({}, std::nan(""));
  out.line({}, std::numeric_limits<double>::infinity());
  EXPECT_EQ(out.lines(), 0U);
  EXPECT_EQ(std::move(out).finish(), "");
}

TEST(Exposition, CountsLines) {
  Exposition out(Format::kOpenMetrics);
  out.family({"a", Type::kGauge, "Help."});
  out.line({}, whole(1));
  out.line(LabelText().add("b", "c").text(), whole(1));
  EXPECT_EQ(out.lines(), 2U);
}

struct Case {
  const char* name;
  std::string value;
  std::string text;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Labels : public testing::TestWithParam<Case> {};

TEST_P(Labels, AreEscaped) {
  EXPECT_EQ(LabelText().add("a", GetParam().value).text(), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Each, Labels,
    testing::Values(Case{"plain", "b c{}=,", "a=\"b c{}=,\""}, Case{"empty", "", ""},
                    Case{"quote", "\"", "a=\"\\\"\""}, Case{"backslash", "\\n", "a=\"\\\\n\""},
                    Case{"newline", "x\ny", "a=\"x\\ny\""},
                    Case{"utf8", "\xC3\xA9", "a=\"\xC3\xA9\""},
                    Case{"zero_byte", std::string("x\0y", 3), "a=\"x\xEF\xBF\xBDy\""},
                    Case{"carriage_return", "\r", "a=\"\xEF\xBF\xBD\""},
                    Case{"delete", "\x7F", "a=\"\xEF\xBF\xBD\""},
                    Case{"no_utf8", "x\xFFy", "a=\"x\xEF\xBF\xBDy\""},
                    Case{"torn_utf8", "\xE2\x82", "a=\"\xEF\xBF\xBD\""},
                    Case{"surrogate", "\xED\xA0\x80",
                         "a=\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""}),
    [](const auto& c) { return c.param.name; });

TEST(LabelTexts, AreInTheOrderOfTheirAddition) {
  EXPECT_EQ(LabelText().add("b", "1").add("x", "").add("a", "2").text(), "b=\"1\",a=\"2\"");
}

}  // namespace
}  // namespace tranche::metrics::exposition_test
