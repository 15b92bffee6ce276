#include "admission/quota/reserve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace tranche::admission::quota::reserve_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t kMilli = 1'000'000;
const cluster::WallTime kNow{std::chrono::seconds(1'800'000'000)};

Ledger holding(std::int64_t permille) {
  Ledger ledger;
  ledger.claims["other"] = {.billionths = permille * kMilli, .is_seen = true};
  return ledger;
}

Reservation half(std::string uid = "u") {
  return {.ns = "team-a", .claim = "c", .uid = std::move(uid), .billionths = 500 * kMilli};
}

TEST(Reserve, WholeGpusAndSharesHaveOneQuota) {
  struct Case {
    const char* name;
    Limit limit;
    std::int64_t shares;
    bool is_admitted;
  };
  const Case cases[] = {
      {"free", {"q", 4000 * kMilli, 0}, 0, true},
      {"just fits", {"q", 4000 * kMilli, 2000 * kMilli}, 1500, true},
      {"a hundredth too much", {"q", 4000 * kMilli, 2000 * kMilli}, 1510, false},
      {"whole GPUs take all", {"q", 4000 * kMilli, 4000 * kMilli}, 0, false},
      {"shares take all", {"q", 4000 * kMilli, 0}, 4000, false},
      {"none allowed", {"q", 0, 0}, 0, false},
      {"half a GPU allowed", {"q", 500 * kMilli, 0}, 0, true},
      {"past it already, after the quota was lowered",
       {"q", 1000 * kMilli, 3000 * kMilli},
       500,
       false},
      {"numbers at their end",
       {"q", 1000 * kMilli, std::numeric_limits<std::int64_t>::max()},
       1,
       false},
  };
  for (const auto& [name, limit, shares, is_admitted] : cases) {
    SCOPED_TRACE(name);
    const auto after = reserve(holding(shares), {limit}, half(), kNow);
    EXPECT_EQ(after.has_value(), is_admitted);
    if (!after) continue;
    EXPECT_EQ(after->billionths(), (shares + 500) * kMilli);
  }
}

TEST(Reserve, ReportsWhatIsUsed) {
  const auto refused =
      reserve(holding(1750), {{"gpus", 4000 * kMilli, 2000 * kMilli}}, half(), kNow);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message(),
              AllOf(HasSubstr("claim \"c\" asks for 0.5 of a GPU"),
                    HasSubstr("namespace team-a may have 4 GPUs (ResourceQuota gpus, "
                              "requests.nvidia.com/gpu): whole GPUs take 2, shares 1.75"),
                    HasSubstr("kubectl get resourceclaims -n team-a")));
}

TEST(Reserve, EachQuotaOfTheNamespaceCounts) {
  const std::vector<Limit> limits = {{"wide", 8000 * kMilli, 0}, {"tight", 1000 * kMilli, 0}};
  EXPECT_TRUE(reserve(holding(500), limits, half(), kNow));
  const auto refused = reserve(holding(600), limits, half(), kNow);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("ResourceQuota tight"));
}

TEST(Reserve, TheSameClaimIsChargedOnce) {
  const std::vector<Limit> limits = {{"q", 500 * kMilli, 0}};
  const auto once = reserve(Ledger(), limits, half(), kNow);
  ASSERT_TRUE(once);
  EXPECT_EQ(reserve(*once, limits, half(), kNow + std::chrono::hours(1)), *once);
  EXPECT_FALSE(reserve(*once, limits, half("another"), kNow));
}

TEST(Reserve, WithoutAQuotaNothingIsCounted) {
  EXPECT_EQ(reserve(Ledger(), {}, half(), kNow), Ledger());
  auto nothing = half();
  nothing.billionths = 0;
  EXPECT_EQ(reserve(Ledger(), {{"q", 0, 0}}, nothing, kNow), Ledger());
}

TEST(Reserve, AClaimHasAUid) {
  for (const auto& none : {std::string(), std::string(37, 'a'), std::string("a\"b")}) {
    EXPECT_FALSE(reserve(Ledger(), {}, half(none), kNow)) << none;
  }
}

TEST(Reserve, AFullLedgerTakesNoMore) {
  Ledger ledger;
  for (std::size_t i = 0; i < Ledger::kMost; ++i) {
    ledger.claims["u" + std::to_string(i)] = {.billionths = 1, .is_seen = true};
  }
  const auto refused = reserve(ledger, {{"q", 1'000'000 * kMilli, 0}}, half(), kNow);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("2000 claims of shares"));
}

TEST(LeftForWhole, IsTheRestOfTheTightestQuota) {
  EXPECT_EQ(left_for_whole(holding(1500), {}), std::nullopt);
  EXPECT_EQ(
      left_for_whole(holding(1500), {{"a", 8000 * kMilli, 0}, {"b", 4000 * kMilli, 3000 * kMilli}}),
      2500 * kMilli);
  EXPECT_EQ(left_for_whole(holding(5000), {{"b", 4000 * kMilli, 0}}), 0);
}

// In any order of events shares and whole GPUs together stay within the quota, as long as whole
// GPUs are limited to what is left.
RC_GTEST_PROP(Reserve, NoOrderOfEventsGoesPastTheQuota, ()) {
  Limit limit{
      .quota = "q", .hard = *rc::gen::inRange<std::int64_t>(0, 9) * 500 * kMilli, .used = 0};
  Ledger ledger;
  std::map<std::string, std::int64_t> live;
  auto now = kNow;
  for (int step = 0; step < 60; ++step) {
    now += std::chrono::seconds(*rc::gen::inRange(0, 50));
    const auto uid = std::to_string(*rc::gen::inRange(0, 12));
    const Reservation asked{.ns = "n",
                            .claim = "c",
                            .uid = uid,
                            .billionths = *rc::gen::inRange<std::int64_t>(1, 1000'000'000)};
    switch (*rc::gen::inRange(0, 5)) {
      case 0: {  // a claim is admitted, and comes
        if (live.contains(uid)) break;
        const auto after = reserve(ledger, {limit}, asked, now);
        if (!after) break;
        ledger = *after;
        live[uid] = ledger.claims.at(uid).billionths;
        break;
      }
      case 1: {  // a claim is admitted, and another admission refuses it
        if (live.contains(uid)) break;
        const auto after = reserve(ledger, {limit}, asked, now);
        if (after) ledger = *after;
        break;
      }
      case 2:
        live.erase(uid);
        break;
      case 3:
        ledger = reconcile(ledger, live, now);
        break;
      default: {  // Pods with whole GPUs, by ResourceQuota
        const auto left = left_for_whole(ledger, {limit});
        const std::int64_t used = *rc::gen::inRange<std::int64_t>(0, 5) * 1000 * kMilli;
        if (used <= std::max(*left, limit.used)) limit.used = used;
      }
    }
    std::int64_t shares = 0;
    for (const auto& [name, billionths] : live) shares += billionths;
    RC_ASSERT(shares <= ledger.billionths());
    RC_ASSERT(limit.used + shares <= limit.hard);
  }
}

}  // namespace
}  // namespace tranche::admission::quota::reserve_test
