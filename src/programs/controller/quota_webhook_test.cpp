#include "controller/quota_webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "controller/quota_reconciler.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::controller::quota_webhook_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

const Backoff kQuick{.first = 1ms, .longest = 4ms};
const cluster::ObjectKey kOurs{.ns = "shop", .name = "tranche-gpu-shares"};
constexpr const char* kGpus = "requests.nvidia.com/gpu";

json claim(const std::string& name, int percent) {
  const json exactly = {
      {"deviceClassName", "gpu-share"},
      {"capacity", {{"requests", {{"memory", "1Mi"}, {"compute", std::to_string(percent)}}}}}};
  return {{"metadata", {{"name", name}, {"namespace", "shop"}, {"uid", "uid-" + name}}},
          {"spec",
           {{"devices", {{"requests", json::array({{{"name", "gpu"}, {"exactly", exactly}}})}}}}}};
}

class QuotaTest : public testing::Test {
 protected:
  QuotaTest() {
    const json configuration = {{"metadata", {{"name", "webhook"}, {"uid", "c-1"}}}};
    objects_.put(cluster::kValidatingWebhookConfiguration, configuration.dump());
    const json device = {{"name", "gpu-0"},
                         {"allowMultipleAllocations", true},
                         {"attributes", {{"productName", {{"string", "NVIDIA L20"}}}}},
                         {"capacity", {{"memory", {{"value", "46068Mi"}}}}}};
    const json slice = {{"metadata", {{"name", "l20"}}},
                        {"spec",
                         {{"driver", "gpu.nvidia.com"},
                          {"nodeName", "n"},
                          {"pool", {{"name", "n"}, {"generation", 1}, {"resourceSliceCount", 1}}},
                          {"devices", json::array({device})}}}};
    objects_.put(cluster::kResourceSlice, slice.dump());
    fleet_.emplace(context_, FleetWatch::Options());
    quotas_.emplace(context_, [](const std::string&) {});
    book_.emplace(
        context_, *fleet_,
        ShareBook::Options{.configuration = "webhook", .count_time = 50ms, .first_pause = 1ms});
    webhook_.emplace(context_, *fleet_, *quotas_, *book_, admission::quota::ChargeOptions());
    EXPECT_TRUE(test::eventually([&] { return fleet_->fleet() && !quotas_->trouble(); }));
  }
  void start_reconciler() {
    reconciler_.emplace(context_, *book_,
                        QuotaReconciler::Options{.spacing = 0ms, .look = 1ms, .stays = 10min});
  }
  void limit(const std::string& hard) {
    const json quota = {{"metadata", {{"name", "gpus"}, {"namespace", "shop"}}},
                        {"spec", {{"hard", {{kGpus, hard}}}}}};
    objects_.put(cluster::kResourceQuota, quota.dump());
    EXPECT_TRUE(test::eventually([&] { return quotas_->may_matter("shop"); }));
  }
  json ours() const {
    const auto text = objects_.text(cluster::kResourceQuota, kOurs);
    return text.empty() ? json() : json::parse(text);
  }
  json ledger() const {
    return json::parse(
        ours()["metadata"]["annotations"]["tranche.dev/gpu-share-ledger"].get<std::string>());
  }
  std::string wanted() const { return ours()["spec"]["hard"][kGpus]; }
  // Like kube-controller-manager.
  void count(const std::string& used = "0") {
    auto quota = ours();
    quota["status"] = {{"hard", quota["spec"]["hard"]}, {"used", {{kGpus, used}}}};
    objects_.put(cluster::kResourceQuota, quota.dump());
  }
  // An empty ResourceQuota of ours, already counted by Kubernetes.
  void put_ours(const std::string& hard, const std::string& used = "0") {
    const auto text = admission::quota::new_own_quota({}, {{"gpus", std::stoi(hard) * 1000, 0}},
                                                      {.kind = "X", .name = "x", .uid = "u"});
    auto quota = json::parse(text);
    quota["metadata"]["namespace"] = "shop";
    quota["status"] = {{"hard", {{kGpus, hard}}}, {"used", {{kGpus, used}}}};
    objects_.put(cluster::kResourceQuota, quota.dump());
  }
  json review(const json& object, const json& change = json::object()) {
    json request = {
        {"uid", "r-1"}, {"namespace", "shop"}, {"operation", "CREATE"}, {"object", object}};
    request.update(change);
    const json body = {
        {"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"request", request}};
    const auto answer = webhook_->answer(body.dump(), {});
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json::parse(answer.body)["response"];
  }
  bool admits(const std::string& name, int percent) {
    return review(claim(name, percent))["allowed"];
  }
  std::string refusal(const std::string& name, int percent) {
    const auto response = review(claim(name, percent));
    return response["allowed"] ? "" : response["status"]["message"].get<std::string>();
  }
  void put_claim(const std::string& name, int percent) {
    objects_.put(cluster::kResourceClaim, claim(name, percent).dump());
  }
  void end_claim(const std::string& name) {
    objects_.erase(cluster::kResourceClaim, {.ns = "shop", .name = name});
  }

  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  SharedWatches watches_{objects_, log_.log(), kQuick};
  const WorkerContext context_{.objects = objects_,
                               .clock = clock_,
                               .log = log_.log(),
                               .watches = watches_,
                               .backoff = kQuick};
  std::optional<FleetWatch> fleet_;
  std::optional<QuotaWatch> quotas_;
  std::optional<ShareBook> book_;
  std::optional<QuotaWebhook> webhook_;
  std::optional<QuotaReconciler> reconciler_;
};

TEST_F(QuotaTest, WithoutAQuotaNothingIsRequestedOrStored) {
  // The caches' watches may begin in between.
  const auto asked = [&] {
    return std::ranges::count_if(objects_.calls(), [](const std::string& call) {
      return !call.starts_with("watch ") && !call.starts_with("list ");
    });
  };
  const auto before = asked();
  EXPECT_TRUE(admits("a", 100));
  EXPECT_EQ(asked(), before);
}

TEST_F(QuotaTest, AShareIsReservedBeforeItIsAdmitted) {
  limit("2");
  put_ours("2");
  EXPECT_TRUE(admits("a", 50));
  EXPECT_EQ(ledger()["reserved"]["uid-a"]["permille"], 500);
  EXPECT_EQ(wanted(), "1");
  EXPECT_EQ(ours()["status"]["hard"][kGpus], "1");
  EXPECT_EQ(ours()["metadata"]["annotations"]["tranche.dev/gpu-shares-held"], "0.5");
  EXPECT_TRUE(admits("a", 50)) << "asked twice, charged once";
  EXPECT_EQ(ledger()["reserved"].size(), 1U);
}

TEST_F(QuotaTest, BeyondTheQuotaIsRefusedUntilAShareEnds) {
  limit("1");
  put_ours("1");
  EXPECT_TRUE(admits("a", 75));
  put_claim("a", 75);
  EXPECT_TRUE(admits("b", 25));
  put_claim("b", 25);
  EXPECT_THAT(refusal("c", 1),
              AllOf(HasSubstr("namespace shop may have 1 GPUs (ResourceQuota gpus"),
                    HasSubstr("shares 1"), HasSubstr("kubectl get resourceclaims -n shop")));
  end_claim("a");
  clock_.advance(2min);
  EXPECT_TRUE(admits("c", 1)) << "before it refuses it looks who is there";
}

TEST_F(QuotaTest, ADryRunReservesNothing) {
  limit("1");
  put_ours("1");
  const auto before = ours();
  EXPECT_EQ(review(claim("a", 50), {{"dryRun", true}})["allowed"], true);
  EXPECT_EQ(ours(), before);
}

TEST_F(QuotaTest, TheFirstShareWaitsUntilKubernetesHasCounted) {
  limit("1");
  EXPECT_THAT(refusal("a", 50), HasSubstr("has not counted ResourceQuota shop/tranche-gpu-shares"));
  EXPECT_EQ(ledger()["reserved"], json::object()) << "it is taken back";
  EXPECT_EQ(ours()["metadata"]["ownerReferences"][0]["uid"], "c-1");
  count();
  EXPECT_TRUE(admits("a", 50));
}

TEST_F(QuotaTest, WholeGpusThatCameInBetweenCount) {
  limit("1");
  put_ours("1", "1");
  EXPECT_THAT(refusal("a", 50), HasSubstr("whole GPUs take 1, shares 0"));
  count("0");
  EXPECT_TRUE(admits("a", 50));
}

TEST_F(QuotaTest, SomebodyElsesQuotaUnderOurNameStays) {
  limit("1");
  const json theirs = {{"metadata", {{"namespace", "shop"}, {"name", kOurs.name}}},
                       {"spec", {{"hard", {{"pods", "1"}}}}}};
  objects_.put(cluster::kResourceQuota, theirs.dump());
  EXPECT_THAT(refusal("a", 50), HasSubstr("is not one of Tranche's"));
  EXPECT_EQ(objects_.count_calls("update") + objects_.count_calls("create"), 0);
}

TEST_F(QuotaTest, OtherClaimsAndOperationsPass) {
  limit("0");
  auto other = claim("a", 50);
  other["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] = "gpu.nvidia.com";
  EXPECT_EQ(review(other)["allowed"], true);
  EXPECT_EQ(review(claim("a", 50), {{"operation", "UPDATE"}})["allowed"], true);
  EXPECT_EQ(review(claim("a", 50), {{"subResource", "status"}})["allowed"], true);
  EXPECT_EQ(review(claim("a", 50), {{"operation", "DELETE"}, {"object", nullptr}})["allowed"],
            true);
  EXPECT_EQ(webhook_->answer("hello", {}).status, 400);
}

TEST_F(QuotaTest, ForgedReviewsAreRefused) {
  limit("1");
  put_ours("1");
  auto all = claim("a", 50);
  all["spec"]["devices"]["requests"][0]["exactly"]["allocationMode"] = "All";
  EXPECT_EQ(review(all)["status"]["code"], 422);
  auto odd = claim("a", 50);
  odd["metadata"]["uid"] = std::string(5000, 'x');
  EXPECT_EQ(review(odd)["status"]["code"], 422);
  EXPECT_EQ(review(claim("a", 50), {{"namespace", "../shop"}})["allowed"], false);
  EXPECT_EQ(ledger()["reserved"], json::object());
}

TEST_F(QuotaTest, TroubleOfTheApiServerRefuses) {
  limit("1");
  put_ours("1");
  objects_.refuse("update", cluster::kResourceQuota, {Code::kUnavailable, "away"}, 1);
  EXPECT_THAT(refusal("a", 50), HasSubstr("away"));
  objects_.refuse("update", cluster::kResourceQuota, {Code::kFailedPrecondition, "changed"}, 3);
  EXPECT_TRUE(admits("a", 50)) << "who loses a race reads again";
}

TEST_F(QuotaTest, ManyAtOnceNeverExceedIt) {
  limit("4");
  put_ours("4");
  std::atomic<int> admitted = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 8; ++i) {
          if (admits(std::to_string(t) + "-" + std::to_string(i), 25)) ++admitted;
        }
      });
    }
  }
  EXPECT_EQ(admitted, 16);
  EXPECT_EQ(ledger()["reserved"].size(), 16U);
  EXPECT_EQ(wanted(), "0");
}

TEST_F(QuotaTest, TheReconcilerFollowsClaims) {
  limit("4");
  put_claim("before", 150);
  put_claim("b", 50);
  start_reconciler();
  EXPECT_TRUE(test::eventually([&] { return !ours().is_null() && wanted() == "2"; }));
  EXPECT_EQ(ledger()["claims"], (json{{"uid-before", 1000}, {"uid-b", 500}}));
  end_claim("before");
  EXPECT_TRUE(test::eventually([&] { return wanted() == "3"; }));
  limit("2");
  EXPECT_TRUE(test::eventually([&] { return wanted() == "1"; })) << "a quota that is lowered";
}

TEST_F(QuotaTest, AShortLivedClaimHoldsNothing) {
  limit("1");
  put_ours("1");
  EXPECT_TRUE(admits("a", 50));
  EXPECT_TRUE(admits("b", 50));
  start_reconciler();
  ASSERT_TRUE(test::eventually([&] { return !reconciler_->trouble(); }));
  put_claim("a", 50);
  end_claim("a");
  EXPECT_TRUE(test::eventually([&] { return !ledger()["reserved"].contains("uid-a"); }));
  EXPECT_TRUE(ledger()["reserved"].contains("uid-b")) << "it may come yet";
}

TEST_F(QuotaTest, AnUnusedReservationExpiresInAMinute) {
  limit("1");
  put_ours("1");
  EXPECT_TRUE(admits("a", 100));
  start_reconciler();
  clock_.advance(59s);
  EXPECT_NE(refusal("b", 100), "");
  clock_.advance(2s);
  EXPECT_TRUE(admits("b", 100));
}

TEST_F(QuotaTest, OurQuotaIsDeletedWithTheirs) {
  limit("1");
  put_ours("1");
  put_claim("a", 50);
  start_reconciler();
  ASSERT_TRUE(test::eventually([&] { return ledger()["claims"].contains("uid-a"); }));
  objects_.erase(cluster::kResourceQuota, {.ns = "shop", .name = "gpus"});
  EXPECT_TRUE(test::eventually([&] { return ours().is_null(); }));
}

TEST_F(QuotaTest, OurQuotaIsDeletedSomeTimeAfterTheLastShare) {
  limit("1");
  put_ours("1");
  start_reconciler();
  const auto settled = [&] {
    const auto lists = objects_.count_calls("list resourcequotas");
    return test::eventually(
        [&] { return objects_.count_calls("list resourcequotas") > lists + 3; });
  };
  ASSERT_TRUE(settled());
  clock_.advance(9min);
  ASSERT_TRUE(settled());
  EXPECT_FALSE(ours().is_null());
  clock_.advance(2min);
  EXPECT_TRUE(test::eventually([&] { return ours().is_null(); }));
}

TEST_F(QuotaTest, ADamagedLedgerIsRebuiltFromTheClaims) {
  limit("1");
  put_ours("1");
  auto torn = ours();
  torn["metadata"]["annotations"]["tranche.dev/gpu-share-ledger"] = "{";
  objects_.put(cluster::kResourceQuota, torn.dump());
  put_claim("a", 75);
  EXPECT_THAT(refusal("b", 50), HasSubstr("shares 0.75"));
  start_reconciler();
  EXPECT_TRUE(test::eventually([&] { return log_.count("its ledger of shares was damaged") > 0; }));
  EXPECT_TRUE(test::eventually([&] { return ledger()["claims"].contains("uid-a"); }));
}

}  // namespace
}  // namespace tranche::controller::quota_webhook_test
