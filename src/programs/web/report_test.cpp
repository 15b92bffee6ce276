#include "web/report.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "fleet/fleet_json.h"
#include "web/assets.h"

namespace tranche::web {
namespace {

fleet::Fleet with_pod(std::string name) {
  fleet::Fleet fleet{.cluster = "c"};
  fleet.waiting.push_back({.ns = "team", .pod = std::move(name)});
  return fleet;
}

// What stands in the element of the data, as an HTML parser finds it: to the first end tag.
std::string_view data_of(std::string_view page) {
  constexpr std::string_view kBegin = R"(<script type="application/json" id="fleet">)";
  const auto begin = page.find(kBegin) + kBegin.size();
  return page.substr(begin, page.find("</script", begin) - begin);
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(Report, HasTheFleet) {
  const auto page = report_html(with_pod("train-0"));
  const auto fleet = fleet::parse_fleet(data_of(page));
  ASSERT_TRUE(fleet) << fleet.error().message();
  EXPECT_EQ(*fleet, with_pod("train-0"));
  EXPECT_EQ(count(page, "@FLEET@"), 0U);
}

TEST(Report, NoNameEndsTheElement) {
  const std::string plain = report_html(with_pod("x"));
  for (const std::string name :
       {"</script><script>alert(1)</script>", "</SCRIPT >", "<!--<script>", "-->", "]]>", "&lt;",
        "a\u2028b\u2029c", "\xe2\x80", "\\u003c/script>", "\"}", "@FLEET@", "'\x01\n"}) {
    const auto page = report_html(with_pod(name));
    EXPECT_EQ(count(page, "<script"), count(plain, "<script")) << name;
    EXPECT_EQ(count(page, "</script"), count(plain, "</script")) << name;
    const auto data = data_of(page);
    EXPECT_EQ(data.find_first_of("<>&"), std::string_view::npos) << name;
    EXPECT_EQ(data.find("\u2028"), std::string_view::npos) << name;
    EXPECT_TRUE(fleet::parse_fleet(data)) << name;
  }
  const std::string name = "</script>\u2028&<!--";
  EXPECT_EQ(fleet::parse_fleet(data_of(report_html(with_pod(name))))->waiting.front().pod, name);
}

// The page's own parts must not end it either, and nothing is fetched.
TEST(Report, IsOneFile) {
  const auto page = report_html({});
  EXPECT_EQ(count(page, "<script"), 2U);
  EXPECT_EQ(count(page, "</script"), 2U);
  EXPECT_EQ(count(page, "<style"), 1U);
  EXPECT_EQ(count(page, "</style"), 1U);
  EXPECT_EQ(count(page, " src="), 0U);
  EXPECT_EQ(count(page, "href=\"app.css\""), 0U);
  EXPECT_NE(page.find("Content-Security-Policy"), std::string::npos);
}

}  // namespace
}  // namespace tranche::web
