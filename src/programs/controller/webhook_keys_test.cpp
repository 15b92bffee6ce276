#include "controller/webhook_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::controller::webhook_keys_test {
namespace {

using namespace std::chrono_literals;
using http::WallTime;
using testing::HasSubstr;

const WallTime kBegin = WallTime(1'790'000'000s);
const WebhookKeyRules kRules{.hosts = {"webhook.tranche.svc"}, .life = 2160h};

// The keys after every step that is due at that time, with API servers up to date.
WebhookKeys settled(WebhookKeys keys, WallTime now, std::vector<std::string>* said = nullptr) {
  for (int i = 0; i < 9; ++i) {
    const auto change = next_keys(keys, kRules, now, true);
    EXPECT_TRUE(change) << change.error().message();
    if (!*change) return keys;
    if (said != nullptr) said->push_back((*change)->what);
    keys = (*change)->keys;
  }
  ADD_FAILURE() << "there is always something to do";
  return keys;
}

std::size_t authorities(const WebhookKeys& keys) {
  return http::split_certificates(keys.authorities)->size();
}

void expect_good(const WebhookKeys& keys, WallTime now) {
  const auto all = *http::split_certificates(keys.authorities);
  EXPECT_TRUE(http::is_key_of(keys.authority_key, all.front()));
  EXPECT_TRUE(http::is_key_of(keys.key, keys.certificate));
  EXPECT_TRUE(http::is_for_host(keys.certificate, kRules.hosts.front()));
  EXPECT_TRUE(std::ranges::any_of(
      all, [&](const auto& one) { return http::is_signed_by(keys.certificate, one); }));
  EXPECT_GT(http::validity_of(keys.certificate)->end, now);
}

TEST(WebhookKeys, TheFirstKeysAreCreatedAndStay) {
  const auto change = next_keys({}, kRules, kBegin, false);
  ASSERT_TRUE(change && *change);
  EXPECT_FALSE((*change)->is_damaged);
  expect_good((*change)->keys, kBegin);
  for (const auto after : {0h, 24h, 1400h}) {
    EXPECT_FALSE(*next_keys((*change)->keys, kRules, kBegin + after, true)) << after.count();
  }
}

TEST(WebhookKeys, ACertificateIsReplacedAfterTwoThirdsOfItsLife) {
  const auto first = settled({}, kBegin);
  EXPECT_EQ(settled(first, kBegin + 1439h), first);
  const auto second = settled(first, kBegin + 1441h);
  EXPECT_NE(second.certificate, first.certificate);
  EXPECT_EQ(second.authorities, first.authorities);
  expect_good(second, kBegin + 1441h);
}

TEST(WebhookKeys, SomethingTrustedIsAlwaysServed) {
  const WebhookKeyRules rules{.hosts = kRules.hosts, .life = 30h};
  auto keys = (*next_keys({}, rules, kBegin, false))->keys;
  auto served = keys;   // by the slowest replica
  auto trusted = keys;  // by the slowest API server
  std::size_t most = 0;
  for (auto now = kBegin; now < kBegin + 30h * 6; now += 1h) {
    // Every API server trusts what any replica serves.
    ASSERT_TRUE(std::ranges::any_of(
        *http::split_certificates(trusted.authorities),
        [&](const auto& one) { return http::is_signed_by(served.certificate, one); }));
    ASSERT_TRUE(std::ranges::any_of(
        *http::split_certificates(trusted.authorities),
        [&](const auto& one) { return http::is_signed_by(keys.certificate, one); }));
    ASSERT_TRUE(std::ranges::any_of(
        *http::split_certificates(keys.authorities),
        [&](const auto& one) { return http::is_signed_by(served.certificate, one); }));
    served = trusted = keys;
    const auto change = next_keys(keys, rules, now, true);
    ASSERT_TRUE(change);
    if (*change) keys = (*change)->keys;
    most = std::max(most, authorities(keys));
  }
  EXPECT_EQ(most, 2U);
}

TEST(WebhookKeys, ASuccessorSignsOnlyOncePublished) {
  const auto first = settled({}, kBegin);
  const auto due = kBegin + 2160h * 4 * 2 / 3 + 1h;
  // The certificate would be replaced earlier; here it is as old as the authority.
  auto change = next_keys(first, kRules, due, true);
  ASSERT_TRUE(change && *change);
  EXPECT_TRUE((*change)->is_damaged);  // it has expired since
  auto keys = (*change)->keys;
  change = next_keys(keys, kRules, due, true);
  ASSERT_TRUE(change && *change);
  keys = (*change)->keys;
  EXPECT_EQ(authorities(keys), 2U);
  EXPECT_FALSE(*next_keys(keys, kRules, due + 1min, true));
  EXPECT_FALSE(*next_keys(keys, kRules, due + 10min, false));
  change = next_keys(keys, kRules, due + 3min, true);
  ASSERT_TRUE(change && *change);
  const auto all = *http::split_certificates(keys.authorities);
  EXPECT_TRUE(http::is_signed_by((*change)->keys.certificate, all[0]));
  keys = (*change)->keys;
  EXPECT_FALSE(*next_keys(keys, kRules, due + 30min, true));
  change = next_keys(keys, kRules, due + 2h, true);
  ASSERT_TRUE(change && *change);
  EXPECT_EQ((*change)->keys.authorities, all[0]);
}

TEST(WebhookKeys, DamagedKeysAreRecreated) {
  const auto good = settled({}, kBegin);
  const auto other = settled({}, kBegin);
  struct Damage {
    const char* said;
    WebhookKeys keys;
  };
  auto with = [&](auto change) {
    auto keys = good;
    change(keys);
    return keys;
  };
  const Damage cases[] = {
      {"ca.crt holds no certificates", with([](auto& k) { k.authorities = "hello"; })},
      {"ca.key is not the key of ca.crt", with([&](auto& k) { k.authority_key = other.key; })},
      {"ca.key is not the key of ca.crt", with([](auto& k) { k.authority_key.clear(); })},
      {"tls.crt holds no certificate", with([](auto& k) { k.certificate.resize(99); })},
      {"tls.key is not the key of tls.crt", with([&](auto& k) { k.key = other.key; })},
      {"tls.crt is of no authority in ca.crt", with([&](auto& k) {
         k.certificate = other.certificate;
         k.key = other.key;
       })}};
  for (const auto& one : cases) {
    const auto change = next_keys(one.keys, kRules, kBegin, true);
    ASSERT_TRUE(change && *change) << one.said;
    EXPECT_TRUE((*change)->is_damaged) << one.said;
    EXPECT_THAT((*change)->what, HasSubstr(one.said));
    expect_good(settled((*change)->keys, kBegin), kBegin);
  }
}

TEST(WebhookKeys, AfterLosingTheAuthoritysKeyItStillServes) {
  auto keys = settled({}, kBegin);
  keys.authority_key.clear();
  const auto change = next_keys(keys, kRules, kBegin, true);
  ASSERT_TRUE(change && *change);
  EXPECT_EQ((*change)->keys.certificate, keys.certificate);
  EXPECT_EQ(authorities((*change)->keys), 2U);
}

TEST(WebhookKeys, ExpiredWhileNoControllerRan) {
  const auto keys = settled({}, kBegin);
  const auto later = kBegin + 24h * 365 * 10;
  const auto after = settled(keys, later);
  expect_good(after, later);
  EXPECT_EQ(authorities(after), 1U);
}

TEST(WebhookKeys, AShorterLifeCountsAtOnce) {
  const auto keys = settled({}, kBegin);
  const WebhookKeyRules shorter{.hosts = kRules.hosts, .life = 24h};
  const auto change = next_keys(keys, shorter, kBegin + 24h * 5, true);
  ASSERT_TRUE(change && *change);
  EXPECT_EQ((*change)->what, "a new authority is announced");
}

TEST(WebhookKeys, AnotherNameNeedsAnotherCertificate) {
  const auto keys = settled({}, kBegin);
  auto rules = kRules;
  rules.hosts.emplace_back("10.0.0.1");
  const auto change = next_keys(keys, rules, kBegin, true);
  ASSERT_TRUE(change && *change);
  EXPECT_FALSE((*change)->is_damaged);
  EXPECT_TRUE(http::is_for_host((*change)->keys.certificate, "10.0.0.1"));
  EXPECT_EQ((*change)->keys.authorities, keys.authorities);
}

}  // namespace
}  // namespace tranche::controller::webhook_keys_test
