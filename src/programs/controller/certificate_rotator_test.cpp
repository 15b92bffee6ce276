#include "controller/certificate_rotator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "controller/webhook_secret.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::controller::certificate_rotator_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

const cluster::ObjectKey kSecretKey{.ns = "tranche", .name = "webhook"};
const cluster::ObjectKey kConfigurationKey{.ns = {}, .name = "webhook"};

class CertificateRotatorTest : public testing::Test {
 protected:
  void put_secret(const json& data) {
    objects_.put(
        cluster::kSecret,
        json{{"metadata", {{"namespace", "tranche"}, {"name", "webhook"}}}, {"data", data}}.dump());
  }
  void put_configuration() {
    const json webhooks = {{{"name", "pods.tranche.dev"}, {"clientConfig", json::object()}},
                           {{"name", "jobs.tranche.dev"}, {"clientConfig", json::object()}}};
    objects_.put(cluster::kMutatingWebhookConfiguration,
                 json{{"metadata", {{"name", "webhook"}}}, {"webhooks", webhooks}}.dump());
  }
  void start(bool has_validating = false) {
    rotator_.emplace(
        WorkerContext{.objects = objects_,
                      .clock = clock_,
                      .log = log_.log(),
                      .watches = watches_,
                      .instance = "c-1",
                      .backoff = {.first = 1ms, .longest = 4ms}},
        CertificateRotator::Options{.secret = kSecretKey,
                                    .configuration = "webhook",
                                    .has_validating = has_validating,
                                    .rules = {.hosts = {"webhook.tranche.svc"}, .life = 1h}});
  }
  WebhookKeys keys() const {
    return keys_of({.json = objects_.text(cluster::kSecret, kSecretKey)});
  }
  // Whether every webhook trusts the Secret's authorities.
  bool is_trusted() const {
    const auto encoded = encode_base64(keys().authorities);
    const auto now =
        json::parse(objects_.text(cluster::kMutatingWebhookConfiguration, kConfigurationKey));
    for (const auto& webhook : now["webhooks"]) {
      if (webhook["clientConfig"].value("caBundle", "") != encoded) return false;
    }
    return http::split_certificates(keys().authorities).has_value();
  }

  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  SharedWatches watches_{objects_, log_.log(), {.first = 1ms, .longest = 4ms}};
  std::optional<CertificateRotator> rotator_;
};

TEST_F(CertificateRotatorTest, FillsTheSecretAndPublishesTheBundle) {
  put_secret(json::object());
  put_configuration();
  start();
  EXPECT_TRUE(test::eventually([&] { return is_trusted(); }));
  EXPECT_TRUE(http::is_for_host(keys().certificate, "webhook.tranche.svc"));
  EXPECT_EQ(log_.count("damaged"), 0);
}

TEST_F(CertificateRotatorTest, UpdatesBothKindsOfWebhooks) {
  const auto& kind = cluster::kValidatingWebhookConfiguration;
  const json webhook = {{"name", "claims.tranche.dev"}, {"clientConfig", json::object()}};
  put_secret(json::object());
  put_configuration();
  start(true);
  EXPECT_TRUE(test::eventually([&] { return log_.count("ValidatingWebhookConfiguration") > 0; }));
  objects_.put(
      kind, json{{"metadata", {{"name", "webhook"}}}, {"webhooks", json::array({webhook})}}.dump());
  EXPECT_TRUE(test::eventually([&] {
    const auto now = json::parse(objects_.text(kind, kConfigurationKey));
    return is_trusted() && now["webhooks"][0]["clientConfig"].value("caBundle", "") ==
                               encode_base64(keys().authorities);
  }));
}

TEST_F(CertificateRotatorTest, KeepsValidCertificates) {
  put_secret(json::object());
  put_configuration();
  start();
  ASSERT_TRUE(test::eventually([&] { return is_trusted(); }));
  const auto before = keys();
  rotator_.reset();
  put_configuration();  // as an upgrade of the chart may leave it
  start();
  EXPECT_TRUE(test::eventually([&] { return is_trusted(); }));
  EXPECT_EQ(keys(), before);
}

TEST_F(CertificateRotatorTest, ReplacesADamagedSecretWithAWarning) {
  put_secret({{"ca.crt", "aGVsbG8="}, {"tls.crt", "not base64!"}});
  put_configuration();
  start();
  EXPECT_TRUE(test::eventually([&] { return is_trusted(); }));
  EXPECT_GT(log_.count("Secret tranche/webhook was damaged: ca.crt holds no"), 0);
}

TEST_F(CertificateRotatorTest, RefillsAnEmptiedSecret) {
  put_secret(json::object());
  put_configuration();
  start();
  ASSERT_TRUE(test::eventually([&] { return is_trusted(); }));
  put_secret(json::object());
  EXPECT_TRUE(test::eventually([&] { return keys() != WebhookKeys{} && is_trusted(); }));
}

TEST_F(CertificateRotatorTest, WaitsForTheSecretWithoutCreatingIt) {
  put_configuration();
  start();
  EXPECT_TRUE(test::eventually([&] { return log_.count("helm upgrade makes it") > 0; }));
  EXPECT_EQ(objects_.count_calls("create"), 0);
  put_secret(json::object());
  EXPECT_TRUE(test::eventually([&] { return is_trusted(); }));
}

TEST_F(CertificateRotatorTest, ReadsAgainAfterAConflict) {
  put_secret(json::object());
  put_configuration();
  objects_.refuse("patch", cluster::kSecret, {Code::kFailedPrecondition, "changed"}, 2);
  start();
  EXPECT_TRUE(test::eventually([&] { return is_trusted(); }));
}

}  // namespace
}  // namespace tranche::controller::certificate_rotator_test
