#include "http/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::http::certificate_test {
namespace {

using namespace std::chrono_literals;

// Whole seconds, as certificates have them.
const WallTime kNow = WallTime(1'790'000'000s);
const Validity kYear{.begin = kNow, .end = kNow + 8760h};
const std::vector<std::string> kHosts = {"webhook.tranche.svc", "127.0.0.1", "::1"};

KeyPair authority() { return *make_authority("tranche webhook CA", kYear); }

TEST(Certificate, IsSignedByItsAuthorityForItsHosts) {
  const auto ca = authority();
  const auto made = make_server_certificate(ca, kHosts, {.begin = kNow, .end = kNow + 1h});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_TRUE(is_signed_by(made->certificate, ca.certificate));
  EXPECT_FALSE(is_signed_by(made->certificate, authority().certificate));
  EXPECT_TRUE(is_key_of(made->key, made->certificate));
  EXPECT_FALSE(is_key_of(ca.key, made->certificate));
  for (const auto& host : kHosts) EXPECT_TRUE(is_for_host(made->certificate, host)) << host;
  EXPECT_FALSE(is_for_host(made->certificate, "other.tranche.svc"));
  EXPECT_FALSE(is_for_host(made->certificate, "127.0.0.2"));
}

TEST(Certificate, KeepsItsTimes) {
  const auto made = make_server_certificate(authority(), {"a.svc"}, kYear);
  const auto validity = validity_of(made->certificate);
  ASSERT_TRUE(validity) << validity.error().message();
  EXPECT_EQ(validity->begin, kYear.begin);
  EXPECT_EQ(validity->end, kYear.end);
}

TEST(Certificate, NeedsTheAuthoritysOwnKey) {
  const KeyPair mixed{.certificate = authority().certificate, .key = authority().key};
  const auto made = make_server_certificate(mixed, {"a.svc"}, kYear);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kInvalidArgument);
}

TEST(Certificate, SeveralAreSplit) {
  const auto one = authority().certificate;
  const auto two = authority().certificate;
  const auto all = split_certificates(one + two);
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_THAT(*all, testing::ElementsAre(one, two));
}

TEST(Certificate, WhatIsNoneIsRefused) {
  const auto one = authority().certificate;
  for (const auto& text : {std::string(), std::string("hello"), one.substr(0, one.size() / 2),
                           one + one.substr(0, one.size() / 2)}) {
    EXPECT_FALSE(split_certificates(text)) << text;
  }
  EXPECT_FALSE(validity_of("hello"));
  EXPECT_FALSE(is_key_of("hello", one));
  EXPECT_FALSE(is_signed_by("hello", one));
  EXPECT_FALSE(is_for_host("hello", "a.svc"));
}

}  // namespace
}  // namespace tranche::http::certificate_test
