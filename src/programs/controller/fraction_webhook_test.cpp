#include "controller/fraction_webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "controller/template_collector.h"
#include "controller/webhook_keys.h"
#include "support/admission.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::controller::fraction_webhook_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

const cluster::Kind& kTemplate = cluster::kResourceClaimTemplate;
const Backoff kQuick{.first = 1ms, .longest = 4ms};

json slice(const std::string& name, const std::string& product, const std::string& memory) {
  const json device = {{"name", "gpu-0"},
                       {"allowMultipleAllocations", true},
                       {"attributes", {{"productName", {{"string", product}}}}},
                       {"capacity", {{"memory", {{"value", memory}}}}}};
  const json pool = {{"name", name}, {"generation", 1}, {"resourceSliceCount", 1}};
  return {{"metadata", {{"name", name}}},
          {"spec",
           {{"driver", "gpu.nvidia.com"},
            {"nodeName", name},
            {"pool", pool},
            {"devices", json::array({device})}}}};
}

// A Pod that was rewritten to claim half a GPU.
json rewritten_pod(const std::string& name) {
  auto pod = test::pod({{{"name", "main"}}});
  pod["metadata"] = {{"name", name}, {"namespace", "shop"}};
  const json claim = {{"name", "tranche-gpu-main"},
                      {"resourceClaimTemplateName", "tranche-gpu-50"}};
  pod["spec"]["resourceClaims"] = json::array({claim});
  return pod;
}

class FractionsTest : public testing::Test {
 protected:
  FractionsTest() {
    put_slice("l20", "NVIDIA L20", "46068Mi");
    fleet_.emplace(context_, FleetWatch::Options());
    templates_.emplace(context_);
    EXPECT_TRUE(test::eventually([&] { return fleet_->fleet() && templates_->synced(); }));
  }
  void put_slice(const std::string& name, const std::string& product, const std::string& memory) {
    objects_.put(cluster::kResourceSlice, slice(name, product, memory).dump());
  }
  void put_node(const std::string& name, const std::string& mode) {
    const json node = {{"metadata", {{"name", name}, {"labels", {{"tranche.dev/mode", mode}}}}}};
    objects_.put(cluster::kNode, node.dump());
  }
  void remove_slice(const std::string& name) {
    objects_.erase(cluster::kResourceSlice, {.ns = {}, .name = name});
  }
  bool has_models(std::size_t count) {
    return test::eventually([&] { return fleet_->fleet()->dra_models.size() == count; });
  }
  void start(std::size_t most_templates = 500) {
    webhook_.emplace(context_, *fleet_, *templates_,
                     FractionWebhook::Options{.address = "127.0.0.1",
                                              .secret = {.ns = "tranche", .name = "webhook"},
                                              .most_templates = most_templates});
  }
  void start_collector() {
    collector_.emplace(context_, *fleet_, *templates_, TemplateCollector::Options{.look = 1ms});
  }
  json ask(const std::string& gpu, const json& change = json::object()) {
    json request = {{"uid", "u-1"},
                    {"namespace", "shop"},
                    {"operation", "CREATE"},
                    {"object", test::pod({test::container("main", gpu)})}};
    request.update(change);
    const json body = {
        {"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"request", request}};
    const auto answer =
        webhook_->answer({.method = "POST", .path = "/fractions", .body = body.dump()}, {});
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json::parse(answer.body)["response"];
  }
  std::string text_of(const std::string& name) {
    return objects_.text(kTemplate, {.ns = "shop", .name = name});
  }
  bool is_there(const std::string& name) { return !text_of(name).empty(); }
  // Whether the watch knows `count` templates.
  bool is_seen(std::size_t count) {
    return test::eventually([&] { return templates_->all().size() == count; });
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
  std::optional<ShareTemplates> templates_;
  std::optional<FractionWebhook> webhook_;
  std::optional<TemplateCollector> collector_;
};

TEST_F(FractionsTest, TheTemplateExistsBeforeTheAnswer) {
  start();
  const auto response = ask("0.5");
  EXPECT_EQ(response["allowed"], true) << response;
  EXPECT_THAT(decode_base64(response["patch"].get<std::string>()).value(),
              HasSubstr("tranche-gpu-50"));
  EXPECT_THAT(text_of("tranche-gpu-50"), HasSubstr("23034Mi"));
  ASSERT_TRUE(is_seen(1));
  const auto before = objects_.calls().size();
  EXPECT_EQ(ask("0.5")["allowed"], true);
  EXPECT_EQ(objects_.calls().size(), before) << "what is known is not asked for";
}

TEST_F(FractionsTest, ADryRunCreatesNothing) {
  start();
  EXPECT_EQ(ask("0.5", {{"dryRun", true}})["allowed"], true);
  EXPECT_EQ(objects_.count_calls("create"), 0);
}

TEST_F(FractionsTest, WithoutItsTemplateAShareIsRefused) {
  start();
  objects_.refuse("create", kTemplate, {Code::kPermission, "forbidden"}, 1);
  const auto response = ask("0.5");
  EXPECT_EQ(response["allowed"], false);
  EXPECT_THAT(response["status"]["message"].get<std::string>(),
              HasSubstr("ResourceClaimTemplate shop/tranche-gpu-50: forbidden"));
  EXPECT_EQ(ask("0.5")["allowed"], true);
}

TEST_F(FractionsTest, ATemplateOfAnotherFleetIsReplaced) {
  start();
  ASSERT_EQ(ask("0.5")["allowed"], true);
  ASSERT_TRUE(is_seen(1));
  put_slice("t4", "Tesla T4", "15360Mi");
  ASSERT_TRUE(test::eventually([&] { return fleet_->fleet()->dra_models.size() == 2; }));
  EXPECT_EQ(ask("0.5")["allowed"], true);
  EXPECT_THAT(text_of("tranche-gpu-50"), HasSubstr("7680Mi"));
  EXPECT_EQ(objects_.count_calls("remove"), 1);
}

TEST_F(FractionsTest, AnotherReplicaMayCreateItFirst) {
  start();
  ASSERT_EQ(ask("0.5")["allowed"], true);
  ShareTemplates late(context_);
  // As if the watch had not delivered it yet.
  objects_.hold_watches(kTemplate, true);
  const auto wanted = admission::claim_template({{.percent = 25}}, *fleet_->fleet(), {});
  ASSERT_TRUE(wanted);
  EXPECT_TRUE(templates_->ensure("shop", *wanted, {}));
  EXPECT_TRUE(late.ensure("shop", *wanted, {}));
  EXPECT_EQ(objects_.count_calls("remove"), 0);
  objects_.hold_watches(kTemplate, false);
}

TEST_F(FractionsTest, SomebodyElsesTemplateStays) {
  start();
  const json theirs = {{"metadata", {{"namespace", "shop"}, {"name", "tranche-gpu-50"}}}};
  objects_.put(kTemplate, theirs.dump());
  const auto response = ask("0.5");
  EXPECT_EQ(response["allowed"], false);
  EXPECT_THAT(response["status"]["message"].get<std::string>(), HasSubstr("not one of Tranche's"));
  EXPECT_EQ(objects_.count_calls("remove"), 0);
}

TEST_F(FractionsTest, MoreThanEightModelsAreRefusedClearly) {
  start();
  for (int i = 0; i < 8; ++i) {
    put_slice("n" + std::to_string(i), "Model " + std::to_string(i), "1000Mi");
  }
  ASSERT_TRUE(test::eventually([&] { return fleet_->fleet()->dra_models.size() == 9; }));
  const auto response = ask("0.5");
  EXPECT_EQ(response["allowed"], false);
  EXPECT_THAT(response["status"]["message"].get<std::string>(), HasSubstr("models"));
}

TEST_F(FractionsTest, AnInvalidOrFullNamespaceIsRefused) {
  start(1);
  EXPECT_EQ(ask("0.5", {{"namespace", "../kube-system"}})["allowed"], false);
  EXPECT_EQ(objects_.count_calls("create"), 0);
  EXPECT_EQ(ask("0.5")["allowed"], true);
  ASSERT_TRUE(is_seen(1));
  const auto response = ask("0.25");
  EXPECT_EQ(response["allowed"], false);
  EXPECT_THAT(response["status"]["message"].get<std::string>(), HasSubstr("different shares"));
  EXPECT_EQ(ask("0.5")["allowed"], true) << "one that is there is not another";
}

TEST_F(FractionsTest, OtherRequestsGetTheirStatus) {
  start();
  const auto status = [&](const std::string& method, const std::string& path,
                          const std::string& body = {}) {
    return webhook_->answer({.method = method, .path = path, .body = body}, {}).status;
  };
  EXPECT_EQ(status("GET", "/healthz"), 200);
  EXPECT_EQ(status("GET", "/readyz"), 503);
  ASSERT_TRUE(test::eventually([&] { return webhook_->port() != 0; }));
  EXPECT_THAT(webhook_->trouble().value(), HasSubstr("certificate"));
  EXPECT_EQ(status("GET", "/fractions"), 405);
  EXPECT_EQ(status("POST", "/other"), 404);
  EXPECT_EQ(status("POST", "/fractions", "hello"), 400);
}

TEST_F(FractionsTest, ServesWithTheSecretsCertificate) {
  start();
  ASSERT_TRUE(test::eventually([&] { return webhook_->port() != 0; }));
  const auto keys =
      next_keys({}, {.hosts = {"127.0.0.1"}, .life = 1h}, std::chrono::system_clock::now(), false);
  const json data = {{"tls.crt", encode_base64((*keys)->keys.certificate)},
                     {"tls.key", encode_base64((*keys)->keys.key)}};
  const json secret = {{"metadata", {{"namespace", "tranche"}, {"name", "webhook"}}},
                       {"data", data}};
  objects_.put(cluster::kSecret, secret.dump());
  EXPECT_TRUE(test::eventually([&] { return !webhook_->trouble(); }));
}

// As after a start of kubelet.
TEST_F(FractionsTest, AModelStaysAWhileAfterItsSliceHasGone) {
  put_node("l20", "dra");
  remove_slice("l20");
  put_slice("t4", "Tesla T4", "15360Mi");
  ASSERT_TRUE(has_models(2));
  clock_.advance(4min);
  EXPECT_EQ(fleet_->fleet()->dra_models.size(), 2U);
  clock_.advance(2min);
  EXPECT_EQ(fleet_->fleet()->dra_models.size(), 1U);
}

// A claim that is made then would never be allocated.
TEST_F(FractionsTest, ANodeThatLeavesModeDraTakesItsModelWithIt) {
  start();
  put_node("l20", "dra");
  put_slice("t4", "Tesla T4", "15360Mi");
  ASSERT_TRUE(has_models(2));
  put_node("l20", "device-plugin");
  ASSERT_TRUE(has_models(1)) << "its slices are still there";
  EXPECT_EQ(fleet_->fleet()->dra_models.front().product, "Tesla T4");
  put_node("t4", "device-plugin");
  remove_slice("l20");
  remove_slice("t4");
  ASSERT_TRUE(has_models(0));
  const auto response = ask("0.5");
  EXPECT_EQ(response["allowed"], false);
  EXPECT_THAT(response["status"]["message"].get<std::string>(), HasSubstr("tranche.dev/mode=dra"));
  put_node("l20", "dra");
  put_slice("l20", "NVIDIA L20", "46068Mi");
  ASSERT_TRUE(has_models(1));
  EXPECT_EQ(ask("0.5")["allowed"], true);
}

TEST_F(FractionsTest, ANodeThatIsGoneTakesItsModelWithIt) {
  put_node("l20", "dra");
  remove_slice("l20");
  ASSERT_TRUE(has_models(1));
  objects_.erase(cluster::kNode, {.ns = {}, .name = "l20"});
  EXPECT_TRUE(has_models(0));
}

TEST_F(FractionsTest, AnUnknownModeChangesNothing) {
  put_node("l20", "dar");
  remove_slice("l20");
  put_slice("t4", "Tesla T4", "15360Mi");
  EXPECT_TRUE(has_models(2));
}

TEST_F(FractionsTest, TemplatesInUseAreRecreated) {
  objects_.put(cluster::kPod, rewritten_pod("waits").dump());
  start_collector();
  EXPECT_TRUE(test::eventually([&] { return is_there("tranche-gpu-50"); }));
  objects_.erase(kTemplate, {.ns = "shop", .name = "tranche-gpu-50"});
  EXPECT_TRUE(test::eventually([&] { return is_there("tranche-gpu-50"); }));
}

// With a claim that Kubernetes made from the template for the Pod `waits`, named in the Pod's
// status.
class WaitingClaimsTest : public FractionsTest {
 protected:
  WaitingClaimsTest() {
    start_collector();
    put_pod();
    EXPECT_TRUE(test::eventually([&] { return is_there("tranche-gpu-50"); }));
  }
  void put_pod(const std::string& claim = "", const std::string& node = "") {
    auto pod = rewritten_pod("waits");
    if (!claim.empty()) {
      pod["status"]["resourceClaimStatuses"] = {
          {{"name", "tranche-gpu-main"}, {"resourceClaimName", claim}}};
    }
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    objects_.put(cluster::kPod, pod.dump());
  }
  // Like kube-controller-manager.
  json claim_from_template(const std::string& name) {
    const auto made = json::parse(text_of("tranche-gpu-50"));
    json claim = made["spec"];
    claim["metadata"]["name"] = name;
    claim["metadata"]["namespace"] = "shop";
    claim["metadata"]["ownerReferences"] = {
        {{"kind", "Pod"}, {"name", "waits"}, {"controller", true}}};
    return claim;
  }
  void put_claim(const json& claim) { objects_.put(cluster::kResourceClaim, claim.dump()); }
  bool has_claim(const std::string& name) {
    return !objects_.text(cluster::kResourceClaim, {.ns = "shop", .name = name}).empty();
  }
  // The T4 is in the template, and everything has been visited since.
  bool joins_and_is_seen() {
    put_slice("t4", "Tesla T4", "15360Mi");
    const bool is_in = test::eventually(
        [&] { return text_of("tranche-gpu-50").find("Tesla T4") != std::string::npos; });
    const auto looks = objects_.count_calls("list cronjobs");
    return is_in &&
           test::eventually([&] { return objects_.count_calls("list cronjobs") > looks + 3; });
  }
};

TEST_F(WaitingClaimsTest, AreReplacedWhenAModelJoins) {
  put_claim(claim_from_template("old"));
  put_pod("old");
  ASSERT_TRUE(joins_and_is_seen());
  const auto names_both = [&] {
    return objects_.text(cluster::kResourceClaim, {.ns = "shop", .name = "old"}).find("Tesla T4") !=
           std::string::npos;
  };
  EXPECT_TRUE(test::eventually(names_both));
  EXPECT_EQ(log_.count("ResourceClaim shop/old: made anew"), 1);
  const auto looks = objects_.count_calls("list cronjobs");
  ASSERT_TRUE(test::eventually([&] { return objects_.count_calls("list cronjobs") > looks + 3; }));
  EXPECT_EQ(log_.count("ResourceClaim shop/old: made anew"), 1);
}

// Another webhook that changes each claim causes no endless loop.
TEST_F(WaitingClaimsTest, OfTheCurrentTemplateStayWhateverOthersChanged) {
  ASSERT_TRUE(joins_and_is_seen());
  auto claim = claim_from_template("changed");
  claim["spec"]["devices"]["requests"][0]["firstAvailable"].erase(0);
  put_claim(claim);
  put_pod("changed");
  const auto looks = objects_.count_calls("list cronjobs");
  ASSERT_TRUE(test::eventually([&] { return objects_.count_calls("list cronjobs") > looks + 3; }));
  EXPECT_TRUE(has_claim("changed"));
}

TEST_F(WaitingClaimsTest, InUseStay) {
  struct Case {
    const char* name;
    json patch;
    const char* node;
  };
  const Case cases[] = {
      {"allocated", {{"status", {{"allocation", json::object()}}}}, ""},
      {"being-allocated",
       {{"metadata", {{"finalizers", {"resource.kubernetes.io/delete-protection"}}}}},
       ""},
      {"scheduled", json::object(), "l20"},
  };
  json claims = json::object();
  for (const auto& [name, patch, node] : cases) {
    auto claim = claim_from_template(name);
    claim.merge_patch(patch);
    put_claim(claim);
    auto pod = rewritten_pod(name);
    pod["status"]["resourceClaimStatuses"] = {
        {{"name", "tranche-gpu-main"}, {"resourceClaimName", name}}};
    if (*node != 0) pod["spec"]["nodeName"] = node;
    objects_.put(cluster::kPod, pod.dump());
  }
  ASSERT_TRUE(joins_and_is_seen());
  for (const auto& one : cases) EXPECT_TRUE(has_claim(one.name)) << one.name;
}

TEST_F(FractionsTest, ExpectedModelsAreClaimedBeforeANodeExists) {
  objects_.erase(cluster::kResourceSlice, {.ns = {}, .name = "l20"});
  fleet_.reset();
  fleet_.emplace(
      context_,
      FleetWatch::Options{.expected = {{.product = "Tesla T4", .memory = Bytes::from_mib(14917)}}});
  ASSERT_TRUE(test::eventually([&] { return fleet_->fleet().has_value(); }));
  start();
  const auto response = ask("0.5");
  EXPECT_EQ(response["allowed"], true) << response;
  EXPECT_THAT(response["warnings"].dump(),
              HasSubstr("no node in mode dra is there now: Pods wait for one with Tesla T4"));
  EXPECT_THAT(text_of("tranche-gpu-50"), HasSubstr("7458Mi"));
  // An existing model's own memory counts.
  put_slice("t4", "Tesla T4", "15360Mi");
  ASSERT_TRUE(test::eventually([&] { return !fleet_->fleet()->is_awaited; }));
  EXPECT_EQ(fleet_->fleet()->dra_models.at(0).memory, Bytes::from_mib(15360));
  EXPECT_EQ(ask("0.5")["warnings"], nullptr);
}

TEST_F(FractionsTest, WorkloadsCountToo) {
  auto deployment = test::deployment(rewritten_pod("x"));
  deployment["metadata"] = {{"name", "one"}, {"namespace", "shop"}};
  objects_.put(cluster::kDeployment, deployment.dump());
  start_collector();
  ASSERT_TRUE(test::eventually([&] { return is_there("tranche-gpu-50"); }));
  clock_.advance(2h);
  const auto looks = objects_.count_calls("list cronjobs");
  ASSERT_TRUE(test::eventually([&] { return objects_.count_calls("list cronjobs") > looks + 3; }));
  EXPECT_TRUE(is_there("tranche-gpu-50"));
}

TEST_F(FractionsTest, TemplatesUnusedForAnHourAreRemoved) {
  objects_.put(cluster::kPod, rewritten_pod("runs").dump());
  const json theirs = {
      {"metadata",
       {{"namespace", "shop"}, {"name", "mine"}, {"labels", {{"tranche.dev/gpu-share", "true"}}}}}};
  objects_.put(kTemplate, theirs.dump());
  start_collector();
  ASSERT_TRUE(test::eventually([&] { return is_there("tranche-gpu-50"); }));
  const auto looked = [&] {
    const auto looks = objects_.count_calls("list cronjobs");
    return test::eventually([&] { return objects_.count_calls("list cronjobs") > looks + 3; });
  };
  ASSERT_TRUE(looked());
  auto ended = rewritten_pod("runs");
  ended["status"]["phase"] = "Succeeded";
  objects_.put(cluster::kPod, ended.dump());
  ASSERT_TRUE(looked());
  clock_.advance(50min);
  ASSERT_TRUE(looked());
  EXPECT_TRUE(is_there("tranche-gpu-50"));
  clock_.advance(11min);
  EXPECT_TRUE(test::eventually([&] { return !is_there("tranche-gpu-50"); }));
  ASSERT_TRUE(looked());
  EXPECT_TRUE(is_there("mine")) << "a name that is none of ours";
}

}  // namespace
}  // namespace tranche::controller::fraction_webhook_test
