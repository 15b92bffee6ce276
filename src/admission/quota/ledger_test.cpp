#include "admission/quota/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tranche::admission::quota::ledger_test {
namespace {

using std::chrono::seconds;
using testing::Key;
using testing::UnorderedElementsAre;

const cluster::WallTime kNow{seconds(1'800'000'000)};

Entry entry(std::int64_t permille, bool is_seen, seconds ago = seconds(0)) {
  return {.permille = permille, .reserved_at = kNow - ago, .is_seen = is_seen};
}

TEST(Ledger, IsReadAsItWasWritten) {
  Ledger ledger;
  EXPECT_EQ(parse_ledger(to_text(ledger)), ledger);
  ledger.claims = {{"a-b", entry(500, true)}, {"c", entry(0, false, seconds(7))}};
  EXPECT_EQ(parse_ledger(to_text(ledger)), ledger);
}

TEST(Ledger, WhatIsTornIsNotEmpty) {
  const char* texts[] = {
      "",
      "{}",
      "[]",
      R"({"claims":{},"version":"gpu-shares/v2"})",
      R"({"claims":{"a":{"permille":-1,"reservedAt":"2026-01-01T00:00:00Z","seen":true}},"version":"gpu-shares/v1"})",
      R"({"claims":{"a":{"permille":1,"reservedAt":"today","seen":true}},"version":"gpu-shares/v1"})",
      R"({"claims":{"a":{"permille":1,"seen":true}},"version":"gpu-shares/v1"})",
  };
  for (const auto* text : texts) EXPECT_FALSE(parse_ledger(text)) << text;
}

TEST(Ledger, ItsSumDoesNotWrap) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  Ledger ledger;
  ledger.claims = {{"a", entry(kMost, true)}, {"b", entry(kMost, true)}};
  EXPECT_EQ(ledger.permille(), kMost);
}

TEST(Ledger, FollowsWhatIsThere) {
  Ledger ledger;
  ledger.claims = {
      {"lives", entry(500, true)},
      {"ended", entry(500, true)},
      {"on its way", entry(250, false, seconds(5))},
      {"came", entry(250, false, seconds(5))},
      {"never came", entry(250, false, seconds(90))},
      {"reserved by a clock that was set back", entry(250, false, -seconds(3600))},
  };
  const auto after =
      reconcile(ledger, {{"lives", 500}, {"came", 250}, {"before us", 750}}, kNow).claims;
  EXPECT_THAT(after,
              UnorderedElementsAre(Key("lives"), Key("on its way"), Key("came"), Key("before us")));
  EXPECT_TRUE(after.at("came").is_seen);
  EXPECT_FALSE(after.at("on its way").is_seen);
  EXPECT_EQ(after.at("before us").permille, 750);
}

TEST(Ledger, AClaimHoldsWhatItIsChargedNow) {
  Ledger ledger;
  ledger.claims = {{"a", entry(1000, true)}};
  EXPECT_EQ(reconcile(ledger, {{"a", 400}}, kNow).permille(), 400);
  EXPECT_EQ(reconcile(reconcile(ledger, {{"a", 400}}, kNow), {}, kNow), Ledger());
}

}  // namespace
}  // namespace tranche::admission::quota::ledger_test
