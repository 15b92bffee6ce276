#include "metrics/format.h"

#include <gtest/gtest.h>

#include <string>

namespace tranche::metrics::format_test {
namespace {

constexpr auto kText = Format::kPrometheusText;
constexpr auto kOpen = Format::kOpenMetrics;

struct Case {
  const char* name;
  std::string accept;
  Format format;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Negotiation : public testing::TestWithParam<Case> {};

TEST_P(Negotiation, Chooses) { EXPECT_EQ(negotiate(GetParam().accept), GetParam().format); }

const std::string kOpenName = "application/openmetrics-text";

INSTANTIATE_TEST_SUITE_P(
    Clients, Negotiation,
    testing::Values(
        Case{"no_header", "", kText}, Case{"curl", "*/*", kText},
        Case{"prometheus_3",
             kOpenName + ";version=1.0.0;escaping=allow-utf-8;q=0.6," + kOpenName +
                 ";version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
                 "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
             kOpen},
        Case{"prometheus_2_text_only", "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", kText},
        Case{"browser", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", kText},
        Case{"all_of_application", "application/*", kText},
        Case{"nothing_that_is_there", "image/png", kText}),
    [](const auto& c) { return c.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Qualities, Negotiation,
    testing::Values(
        Case{"equal", kOpenName + ",text/plain", kOpen},
        Case{"text_is_liked_more", kOpenName + ";q=0.4,text/plain;q=0.401", kText},
        Case{"zero_is_refused", kOpenName + ";q=0", kText},
        Case{"text_is_refused", kOpenName + ";q=0.1,text/plain;q=0,*/*;q=1", kOpen},
        Case{"closest_range_counts", "*/*;q=0.9," + kOpenName + ";q=0.5,text/*;q=0.3", kOpen},
        Case{"best_of_equally_close_ranges",
             kOpenName + ";q=0.5,text/plain;q=0.1,text/plain;version=0.0.4;q=0.6", kText}),
    [](const auto& c) { return c.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Spellings, Negotiation,
    testing::Values(Case{"upper_case", "Application/OpenMetrics-Text;VERSION=1.0.0;Q=1", kOpen},
                    Case{"spaces",
                         " " + kOpenName + " ; version=1.0.0 ;\tq=0.7 , text/plain ; q=0.6", kOpen},
                    Case{"quoted_version", kOpenName + ";version=\"1.0.0\"", kOpen},
                    Case{"no_version", kOpenName, kOpen},
                    Case{"older_version_alone", kOpenName + ";version=0.0.1", kText},
                    Case{"newer_version_alone", kOpenName + ";version=2.0.0", kText},
                    Case{"newer_text_does_not_count",
                         kOpenName + ";q=0.3,text/plain;version=1.0.0;q=0.9", kOpen}),
    [](const auto& c) { return c.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Hostile, Negotiation,
    testing::Values(Case{"q_above_one", kOpenName + ";q=1.1", kText},
                    Case{"q_negative", kOpenName + ";q=-1", kText},
                    Case{"q_exponent", kOpenName + ";q=1e9", kText},
                    Case{"q_nan", kOpenName + ";q=nan", kText},
                    Case{"q_empty", kOpenName + ";q=", kText},
                    Case{"q_two_points", kOpenName + ";q=0.1.", kText},
                    Case{"q_too_fine", kOpenName + ";q=0.1234", kText},
                    Case{"only_separators", std::string(10'000, ',') + std::string(10'000, ';'),
                         kText},
                    Case{"open_quote_swallows_the_rest", "text/plain;a=\"," + kOpenName, kText},
                    Case{"comma_in_quotes", "text/html;a=\"," + kOpenName + ",\"", kText},
                    Case{"escaped_quote", "text/html;a=\"\\\"," + kOpenName + "\"", kText},
                    Case{"backslash_at_the_end", "text/html;a=\"\\", kText},
                    Case{"zero_bytes", std::string(64, '\0'), kText},
                    Case{"long_and_then_good", std::string(100'000, 'x') + "," + kOpenName, kOpen}),
    [](const auto& c) { return c.param.name; });

TEST(ContentType, NamesTheVersion) {
  EXPECT_EQ(content_type(kText), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(content_type(kOpen), "application/openmetrics-text; version=1.0.0; charset=utf-8");
}

}  // namespace
}  // namespace tranche::metrics::format_test
