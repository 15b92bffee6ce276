#include "web/assets.h"

#include <gtest/gtest.h>

#include <set>

namespace tranche::web {
namespace {

TEST(Assets, AreThoseOfThePage) {
  std::set<std::string_view> etags;
  for (const auto path : {"/", "/app.js", "/app.css", "/favicon.svg"}) {
    const auto asset = find_asset(path);
    ASSERT_TRUE(asset) << path;
    EXPECT_GT(asset->body.size(), 100U) << path;
    EXPECT_EQ(asset->etag.size(), 18U) << path;
    EXPECT_EQ(asset->etag.front(), '"');
    EXPECT_EQ(asset->etag.back(), '"');
    etags.insert(asset->etag);
  }
  EXPECT_EQ(etags.size(), 4U);
  EXPECT_TRUE(find_asset("/")->body.starts_with("<!doctype html>"));
  EXPECT_TRUE(find_asset("/")->body.ends_with("</html>\n"));
}

TEST(Assets, NoOtherPathIsThere) {
  for (const auto path : {"", "/index.html", "/report.html", "/app.js/", "//", "/../app.js"}) {
    EXPECT_FALSE(find_asset(path)) << path;
  }
}

// A strict Content-Security-Policy forbids both.
TEST(Assets, ThePageHasNoInlineScriptOrStyle) {
  const auto page = find_asset("/")->body;
  EXPECT_EQ(page.find("style="), page.npos);
  EXPECT_EQ(page.find("<style"), page.npos);
  EXPECT_EQ(page.find("<script>"), page.npos);
}

}  // namespace
}  // namespace tranche::web
