#include "admission/quota/ledger.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tranche::admission::quota::ledger_test {
namespace {

using std::chrono::seconds;
using testing::Key;
using testing::UnorderedElementsAre;

const cluster::WallTime kNow{seconds(1'800'000'000)};

constexpr std::int64_t kMilli = 1'000'000;

Entry seen(std::int64_t permille) { return {.billionths = permille * kMilli, .is_seen = true}; }
Entry reserved(std::int64_t permille, seconds ago) {
  return {.billionths = permille * kMilli, .reserved_at = kNow - ago};
}

TEST(Ledger, IsReadAsItWasWritten) {
  Ledger ledger;
  EXPECT_EQ(parse_ledger(to_text(ledger)), ledger);
  ledger.claims = {{"a-b", seen(500)}, {"c", reserved(0, seconds(7))}};
  EXPECT_EQ(parse_ledger(to_text(ledger)), ledger);
}

TEST(Ledger, KeepsBillionths) {
  Ledger ledger;
  ledger.claims["third"] = {.billionths = 333'333'333, .is_seen = true};
  ledger.claims["on its way"] = {.billionths = 666'666'667, .reserved_at = kNow};
  ledger.claims["half"] = seen(500);
  EXPECT_EQ(parse_ledger(to_text(ledger)), ledger);
}

// While controllers are upgraded or downgraded one after the other.
TEST(Ledger, IsCompatibleWithThePreviousRelease) {
  // The previous release reads only thousandths; they are rounded up.
  Ledger ledger;
  ledger.claims["a"] = {.billionths = 333'333'333, .is_seen = true};
  ledger.claims["b"] = {.billionths = 666'666'667, .reserved_at = kNow};
  ledger.claims["c"] = seen(500);
  EXPECT_EQ(to_text(ledger),
            R"({"billionths":{"a":333333333},"claims":{"a":334,"c":500},)"
            R"("reserved":{"b":{"at":"2027-01-15T08:00:00.000000Z","permille":667,)"
            R"("billionths":666666667}},"version":"gpu-shares/v1"})");
  // It writes only thousandths. Once the claims are listed, each is exact.
  const auto before = parse_ledger(
      R"({"claims":{"a":334,"c":500},"reserved":{"b":{"at":"2027-01-15T08:00:00.000000Z",)"
      R"("permille":667}},"version":"gpu-shares/v1"})");
  ASSERT_TRUE(before);
  EXPECT_EQ(before->billionths(), (334 + 500 + 667) * kMilli);
  const auto after =
      reconcile(*before, {{"a", 333'333'333}, {"b", 666'666'667}, {"c", 500 * kMilli}}, kNow);
  EXPECT_EQ(after.billionths(), 1500 * kMilli);
}

TEST(Ledger, ADamagedTextIsNotEmpty) {
  const char* texts[] = {
      "",
      "{}",
      "[]",
      R"({"claims":{},"reserved":{},"version":"gpu-shares/v2"})",
      R"({"claims":{},"version":"gpu-shares/v1"})",
      R"({"claims":{"a":-1},"reserved":{},"version":"gpu-shares/v1"})",
      R"({"claims":{"a":"1"},"reserved":{},"version":"gpu-shares/v1"})",
      R"({"claims":{},"reserved":{"a":{"permille":1,"at":"today"}},"version":"gpu-shares/v1"})",
      R"({"claims":{},"reserved":{"a":{"permille":1}},"version":"gpu-shares/v1"})",
      R"({"claims":{"a":1},"billionths":{"a":333333333},"reserved":{},"version":"gpu-shares/v1"})",
      R"({"claims":{"a":1},"billionths":{"a":"1"},"reserved":{},"version":"gpu-shares/v1"})",
  };
  for (const auto* text : texts) EXPECT_FALSE(parse_ledger(text)) << text;
}

TEST(Ledger, AFullOneFitsIntoAnAnnotation) {
  Ledger ledger;
  for (std::size_t i = 0; i < Ledger::kMost; ++i) {
    ledger.claims[fmt::format("{:036}", i)] = {.billionths = 8'333'333'333, .reserved_at = kNow};
  }
  EXPECT_LT(to_text(ledger).size(), 250U << 10U);
}

// Any number of claims may be older than the quota, and whole GPUs are limited to what they leave.
TEST(Ledger, KeepsTheSumOfMoreThanFit) {
  Ledger ledger;
  ledger.claims["on its way"] = reserved(250, seconds(1));
  std::map<std::string, std::int64_t> live;
  for (int i = 0; i < 5000; ++i) live[fmt::format("{:036}", i)] = 10 * kMilli;
  const auto full = reconcile(ledger, live, kNow);
  EXPECT_EQ(full.claims.size(), 5001U);
  const auto text = to_text(full);
  EXPECT_LT(text.size(), 1U << 10U);
  const auto read = parse_ledger(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->billionths(), full.billionths());
  EXPECT_TRUE(read->is_full());
  EXPECT_THAT(read->claims, testing::ElementsAre(Key("on its way")));
  EXPECT_EQ(parse_ledger(to_text(*read)), *read);
  // When some have ended, each is known again.
  live.erase(std::next(live.begin(), 100), live.end());
  const auto after = reconcile(*read, live, kNow);
  EXPECT_EQ(after.billionths(), 1250 * kMilli);
  EXPECT_FALSE(after.is_full());
}

TEST(Ledger, ItsSumDoesNotWrap) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  Ledger ledger;
  ledger.claims["a"].billionths = ledger.claims["b"].billionths = kMost;
  EXPECT_EQ(ledger.billionths(), kMost);
}

TEST(Ledger, FollowsTheExistingClaims) {
  Ledger ledger;
  ledger.claims = {
      {"lives", seen(500)},
      {"ended", seen(500)},
      {"on its way", reserved(250, seconds(5))},
      {"came", reserved(250, seconds(5))},
      {"never came", reserved(250, seconds(90))},
      {"reserved by a clock that was set back", reserved(250, -seconds(3600))},
  };
  const auto after =
      reconcile(ledger,
                {{"lives", 500 * kMilli}, {"came", 250 * kMilli}, {"before us", 750 * kMilli}},
                kNow)
          .claims;
  EXPECT_THAT(after,
              UnorderedElementsAre(Key("lives"), Key("on its way"), Key("came"), Key("before us")));
  EXPECT_TRUE(after.at("came").is_seen);
  EXPECT_FALSE(after.at("on its way").is_seen);
  EXPECT_EQ(after.at("before us").billionths, 750 * kMilli);
}

TEST(Ledger, AClaimHoldsItsChargeAndNeverMoreThanBefore) {
  Ledger ledger;
  ledger.claims = {{"a", seen(1000)}};
  const auto lower = reconcile(ledger, {{"a", 400 * kMilli}}, kNow);
  EXPECT_EQ(lower.billionths(), 400 * kMilli);
  EXPECT_EQ(reconcile(lower, {{"a", 1000 * kMilli}}, kNow).billionths(), 400 * kMilli);
  EXPECT_EQ(reconcile(lower, {}, kNow), Ledger());
}

}  // namespace
}  // namespace tranche::admission::quota::ledger_test
