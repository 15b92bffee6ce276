#include "admission/quota/own_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tranche::admission::quota::own_quota_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::int64_t kMilli = 1'000'000;
const std::vector<Limit> kLimits = {{"wide", 8000 * kMilli, 0}, {"tight", 2500 * kMilli, 0}};
const cluster::OwnerReference kOwner{
    .api_version = "a/v1", .kind = "Kind", .name = "owner", .uid = "o-1"};

Ledger holding(std::int64_t permille) {
  Ledger ledger;
  ledger.claims["c-1"] = {.billionths = permille * kMilli, .is_seen = true};
  return ledger;
}

Result<OwnQuota> read(const std::string& text) {
  const auto root = tranche::json::parse(text);
  EXPECT_TRUE(root);
  return read_own_quota(*root);
}

TEST(OwnQuota, IsReadAsItWasWritten) {
  const auto text = new_own_quota(holding(750), kLimits, kOwner);
  const auto own = read(text);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->ledger, holding(750));
  EXPECT_EQ(own->wanted, 1000 * kMilli) << "of 1.75 whole GPUs are of use";
  EXPECT_EQ(own->hard, std::nullopt);
  const auto object = json::parse(text);
  EXPECT_EQ(object["metadata"]["annotations"][std::string(kHeldAnnotation)], "0.75");
  EXPECT_EQ(object["metadata"]["ownerReferences"][0],
            (json{{"apiVersion", "a/v1"}, {"kind", "Kind"}, {"name", "owner"}, {"uid", "o-1"}}));
}

TEST(OwnQuota, AChangeKeepsOtherFields) {
  auto object = json::parse(new_own_quota(holding(750), kLimits, kOwner));
  object["metadata"]["resourceVersion"] = "7";
  object["metadata"]["annotations"]["theirs"] = "x";
  object["status"] = {{"hard", {{kQuotaResource, "1"}}}, {"used", {{kQuotaResource, "1"}}}};
  const auto text = object.dump();
  const auto changed =
      json::parse(changed_own_quota(*tranche::json::parse(text), holding(2000), kLimits));
  EXPECT_EQ(changed["metadata"]["resourceVersion"], "7");
  EXPECT_EQ(changed["metadata"]["annotations"]["theirs"], "x");
  const auto own = read(changed.dump());
  ASSERT_TRUE(own);
  EXPECT_EQ(own->wanted, 0);
  EXPECT_EQ(own->hard, 1000 * kMilli);
  EXPECT_EQ(own->used, 1000 * kMilli);
  const auto lowered = changed.dump();
  const auto status = read(with_status_as_wanted(*tranche::json::parse(lowered)));
  EXPECT_EQ(status->hard, 0);
  EXPECT_EQ(status->used, 1000 * kMilli) << "Kubernetes counts that";
}

TEST(OwnQuota, WithoutOurLabelItIsSomebodyElses) {
  const auto own = read(R"({"metadata":{"name":"tranche-gpu-shares"},"spec":{"hard":{}}})");
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(own.error().message(), HasSubstr("kubectl delete resourcequota"));
}

TEST(OwnQuota, AnAmountThatSomebodyMadeHugeIsReadAndPutRight) {
  auto object = json::parse(new_own_quota(holding(750), kLimits, kOwner));
  object["spec"]["hard"] = {{kQuotaResource, "9223372036854775807"}, {"pods", "0"}};
  const auto text = object.dump();
  const auto own = read(text);
  ASSERT_TRUE(own) << own.error().message();
  EXPECT_GT(own->wanted, 1'000'000'000 * kMilli);
  const auto changed =
      json::parse(changed_own_quota(*tranche::json::parse(text), holding(750), kLimits));
  EXPECT_EQ(changed["spec"]["hard"], (json{{kQuotaResource, "1"}}));
}

TEST(OwnQuota, ATornLedgerIsNone) {
  for (const auto* ledger : {"", "{", "{}"}) {
    auto object = json::parse(new_own_quota(holding(750), kLimits, kOwner));
    object["metadata"]["annotations"][std::string(kLedgerAnnotation)] = ledger;
    const auto own = read(object.dump());
    ASSERT_TRUE(own);
    EXPECT_EQ(own->ledger, std::nullopt);
  }
}

TEST(OwnQuota, GpusForPeople) {
  EXPECT_EQ(gpus_text(2500 * kMilli), "2.5");
  EXPECT_EQ(gpus_text(0), "0");
  EXPECT_EQ(gpus_text(1010 * kMilli), "1.01");
  EXPECT_EQ(gpus_text(333'333'333), "0.333333");
  EXPECT_EQ(gpus_text(999'999'999), "1") << "three thirds";
}

}  // namespace
}  // namespace tranche::admission::quota::own_quota_test
