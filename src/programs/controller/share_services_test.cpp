#include "controller/share_services.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "controller/fraction_webhook.h"
#include "support/admission.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::controller::share_services_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kOther = "gpu.example.com";

json slice(const std::string& name, const std::string& driver, const std::string& product,
           const std::string& memory) {
  const json device = {{"name", "gpu-0"},
                       {"allowMultipleAllocations", true},
                       {"attributes", {{"productName", {{"string", product}}}}},
                       {"capacity", {{"memory", {{"value", memory}}}}}};
  const json pool = {{"name", name}, {"generation", 1}, {"resourceSliceCount", 1}};
  return {{"metadata", {{"name", name}}},
          {"spec",
           {{"driver", driver},
            {"nodeName", name},
            {"pool", pool},
            {"devices", json::array({device})}}}};
}

// For clusters where NVIDIA's DRA driver has other GPUs.
class SharesOfAnotherDriver : public testing::Test {
 protected:
  SharesOfAnotherDriver() {
    objects_.put(cluster::kResourceSlice,
                 slice("l20", "gpu.nvidia.com", "NVIDIA L20", "46068Mi").dump());
    objects_.put(cluster::kResourceSlice, slice("t4", kOther, "Tesla T4", "15360Mi").dump());
    shares_.emplace(context_, *options_.webhook);
    context_.shares = &*shares_;
    EXPECT_TRUE(
        test::eventually([&] { return shares_->fleet.fleet() && shares_->templates.synced(); }));
  }

  const config::ControllerOptions options_{
      .ns = "tranche",
      .webhook = config::WebhookOptions{.address = "127.0.0.1",
                                        .port = 0,
                                        .configuration = "webhook",
                                        .dra_driver_name = kOther,
                                        .counts_shares = true}};
  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  SharedWatches watches_{objects_, log_.log(), {.first = 1ms, .longest = 4ms}};
  WorkerContext context_{.objects = objects_,
                         .clock = clock_,
                         .log = log_.log(),
                         .watches = watches_,
                         .backoff = {.first = 1ms, .longest = 4ms}};
  std::optional<ShareServices> shares_;
};

TEST_F(SharesOfAnotherDriver, AreClaimedByItsName) {
  const auto plan = plan_fraction_webhook(options_);
  const auto worker = plan->start(context_);
  const json request = {{"uid", "u-1"},
                        {"namespace", "shop"},
                        {"operation", "CREATE"},
                        {"object", test::pod({test::container("main", "0.5")})}};
  const json review = {
      {"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"request", request}};
  const auto answer = dynamic_cast<FractionWebhook&>(*worker).answer(
      {.method = "POST", .path = "/fractions", .body = review.dump()}, {});
  EXPECT_EQ(json::parse(answer.body)["response"]["allowed"], true) << answer.body;
  const auto made =
      objects_.text(cluster::kResourceClaimTemplate, {.ns = "shop", .name = "tranche-gpu-50"});
  EXPECT_THAT(made, HasSubstr("device.attributes['gpu.example.com'].productName == 'Tesla T4'"));
  EXPECT_THAT(made, HasSubstr("7680Mi"));
  EXPECT_THAT(made, Not(HasSubstr("gpu.nvidia.com"))) << "of no other driver's GPUs";
}

// A quarter of the large model is three quarters of the small one, so it matters which is named.
TEST_F(SharesOfAnotherDriver, AreChargedByItsName) {
  objects_.put(cluster::kResourceSlice, slice("a", kOther, "NVIDIA L40", "46080Mi").dump());
  const json limit = {{"metadata", {{"name", "gpus"}, {"namespace", "shop"}}},
                      {"spec", {{"hard", {{"requests.nvidia.com/gpu", "1"}}}}}};
  objects_.put(cluster::kResourceQuota, limit.dump());
  ASSERT_TRUE(test::eventually([&] {
    return shares_->counting->quotas.may_matter("shop") &&
           shares_->fleet.fleet()->dra_models.size() == 2;
  }));
  const auto wanted = admission::claim_template({{.memory = {}, .percent = 25}},
                                                shares_->fleet.fleet().value(), shares_->claim);
  ASSERT_TRUE(wanted) << wanted.error().message();
  auto claim = json::parse(wanted->json)["spec"];
  auto& large = claim["spec"]["devices"]["requests"][0]["firstAvailable"];
  large.erase(0);
  ASSERT_EQ(large[0]["name"], "l40");
  claim["metadata"].update({{"name", "is-there"}, {"namespace", "shop"}, {"uid", "c-1"}});
  objects_.put(cluster::kResourceClaim, claim.dump());
  claim["metadata"].update({{"name", "comes"}, {"uid", "c-2"}});
  const json request = {{"uid", "r-1"},
                        {"namespace", "shop"},
                        {"operation", "CREATE"},
                        {"dryRun", true},
                        {"object", claim}};
  const json review = {
      {"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"request", request}};
  const auto answer = shares_->counting->webhook.answer(review.dump(), {});
  EXPECT_EQ(json::parse(answer.body)["response"]["allowed"], true) << answer.body;
}

}  // namespace
}  // namespace tranche::controller::share_services_test
