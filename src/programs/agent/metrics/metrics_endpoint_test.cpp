#include "agent/metrics/metrics_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"
#include "http/server.h"
#include "support/fake_clock.h"
#include "support/http_client.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"
#include "usage/node_usage_json.h"

namespace tranche::agent::metrics_endpoint_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class MetricsEndpointTest : public testing::Test {
 protected:
  void open(config::MetricsOptions options = {}) {
    options.address = "127.0.0.1";
    endpoint_ = std::make_unique<MetricsEndpoint>(
        std::move(options), [this] { return figures_; }, clock_, log_.log());
    endpoint_->keep();
  }
  std::string get(const std::string& path, const std::string& headers = "") const {
    return test::HttpClient(endpoint_->port()).ask(path, "", headers);
  }

  test::TempDir dir_;
  test::LogRecorder log_;
  test::FakeClock clock_;
  std::shared_ptr<const metrics::NodeFigures> figures_ =
      std::make_shared<const metrics::NodeFigures>(
          metrics::NodeFigures{.node = "n1", .checks = {{"driver", true}}});
  std::unique_ptr<MetricsEndpoint> endpoint_;
};

TEST_F(MetricsEndpointTest, APageInTheFormatThatIsAskedFor) {
  open();
  const auto text = get("/metrics");
  EXPECT_THAT(text, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(text, HasSubstr("Content-Type: text/plain; version=0.0.4"));
  EXPECT_THAT(text, HasSubstr("tranche_check{"));
  EXPECT_THAT(text, Not(HasSubstr("# EOF")));
  const auto open_metrics =
      get("/metrics", "Accept: application/openmetrics-text;version=1.0.0\r\n");
  EXPECT_THAT(open_metrics, HasSubstr("Content-Type: application/openmetrics-text"));
  EXPECT_THAT(open_metrics, HasSubstr("# EOF"));
}

TEST_F(MetricsEndpointTest, ALargePageIsCompressedForThoseWhoTakeIt) {
  auto many = *figures_;
  for (int i = 0; i < 50; ++i) {
    many.checks.push_back({"check-" + std::to_string(i), true});
  }
  figures_ = std::make_shared<const metrics::NodeFigures>(many);
  open();
  const auto packed = get("/metrics", "Accept-Encoding: gzip\r\n");
  EXPECT_THAT(packed, HasSubstr("Content-Encoding: gzip"));
  EXPECT_LT(packed.size(), get("/metrics").size() / 2);
}

TEST_F(MetricsEndpointTest, WhatIsNotMetricsIsRefused) {
  open();
  EXPECT_THAT(get("/"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(test::HttpClient(endpoint_->port()).ask("/metrics", "x"), StartsWith("HTTP/1.1 405"));
  figures_ = nullptr;
  EXPECT_THAT(get("/metrics"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(get("/usage"), StartsWith("HTTP/1.1 503"));
}

TEST_F(MetricsEndpointTest, TheUsageOfTheNode) {
  auto usage = *figures_;
  usage.processes.push_back({.pid = 7, .name = "a\"\n\xff", .device = "GPU-1"});
  figures_ = std::make_shared<const metrics::NodeFigures>(usage);
  open();
  const auto answer = get("/usage");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: application/json\r\n"));
  const auto read = usage::parse_node_usage(answer.substr(answer.find("\r\n\r\n") + 4));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->node, "n1");
  EXPECT_EQ(read->taken_at, clock_.wall_now());
  EXPECT_EQ(read->processes.at(0).name, "a\"\n\xEF\xBF\xBD");
  EXPECT_THAT(test::HttpClient(endpoint_->port()).ask("/usage", "x"), StartsWith("HTTP/1.1 405"));
}

TEST_F(MetricsEndpointTest, ATokenIsNeededWhereThereIsOne) {
  const auto file = dir_.path() / "token";
  open({.token_file = file});
  EXPECT_THAT(get("/metrics"), StartsWith("HTTP/1.1 401")) << "the file is not there yet";
  EXPECT_THAT(get("/metrics"), StartsWith("HTTP/1.1 401"));
  EXPECT_EQ(log_.count("metrics are refused to all"), 1);
  ASSERT_TRUE(FsRoot().write_atomic(file, "secret\n"));
  EXPECT_THAT(get("/metrics"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(get("/metrics", "Authorization: Bearer secret\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get("/usage"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(get("/other"), StartsWith("HTTP/1.1 401")) << "nothing is told without it";
}

TEST_F(MetricsEndpointTest, WithoutItsCertificateNothingIsServedInTheClear) {
  open({.tls_dir = dir_.path()});
  endpoint_->keep();
  EXPECT_EQ(log_.count("the certificate of metrics cannot be used"), 1);
  EXPECT_THAT(get("/metrics"), Not(HasSubstr("tranche_")));
}

TEST_F(MetricsEndpointTest, APortInUseIsTriedAgain) {
  auto other = http::Server::open({.tls = false, .address = "127.0.0.1"},
                                  [](const auto&, const auto&) { return http::Response{}; });
  ASSERT_TRUE(other);
  open({.port = (*other)->port()});
  endpoint_->keep();
  EXPECT_EQ(log_.count("metrics are not served"), 1);
  other->reset();
  endpoint_->keep();
  EXPECT_THAT(get("/metrics"), StartsWith("HTTP/1.1 200"));
  endpoint_->close();
  endpoint_->keep();
  EXPECT_THAT(get("/metrics"), StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace tranche::agent::metrics_endpoint_test
