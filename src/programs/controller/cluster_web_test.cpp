#include "controller/cluster_web.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "config/programs/controller_options.h"
#include "fleet/fleet_json.h"
#include "http/server.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/http_client.h"
#include "support/log_recorder.h"
#include "support/wait.h"
#include "usage/node_usage_json.h"

namespace tranche::controller::cluster_web_test {
namespace {

using nlohmann::json;
using test::eventually;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A cluster of the node "n" with four tranches, a Pod that has one, and one that waits for five.
class ClusterWebTest : public testing::Test {
 protected:
  ClusterWebTest() {
    put_node();
    put_pod("runs", "n", "Running", 1);
    put_pod("waits", "", "Pending", 5);
    objects_.put(cluster::kPod, json{{"metadata", {{"namespace", "team"}, {"name", "no-gpu"}}},
                                     {"spec", {{"containers", {{{"name", "c"}}}}}}}
                                    .dump());
    objects_.answer_reviews([](const cluster::Kind&, std::string_view) {
      return json{
          {"status", {{"authenticated", true}, {"allowed", true}, {"user", {{"username", "u"}}}}}}
          .dump();
    });
  }
  void put_node() {
    objects_.put(cluster::kNode, json{{"metadata", {{"name", "n"}}},
                                      {"status",
                                       {{"capacity", {{"nvidia.com/gpu", "4"}}},
                                        {"allocatable", {{"nvidia.com/gpu", "4"}}},
                                        {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}}
                                     .dump());
  }
  void put_pod(const std::string& name, const std::string& node, const std::string& phase,
               int count) {
    json pod = {
        {"metadata",
         {{"namespace", "team"}, {"name", name}, {"creationTimestamp", "2025-12-31T23:59:00Z"}}},
        {"spec",
         {{"containers",
           {{{"name", "c"},
             {"resources", {{"limits", {{"nvidia.com/gpu", std::to_string(count)}}}}}}}}}},
        {"status", {{"phase", phase}}}};
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    if (node.empty()) {
      pod["status"]["conditions"] = {{{"type", "PodScheduled"},
                                      {"status", "False"},
                                      {"reason", "Unschedulable"},
                                      {"message", "0/1 nodes are available"}}};
    }
    objects_.put(cluster::kPod, pod.dump());
  }
  // An agent of the release, at the loopback.
  void put_agent() {
    objects_.put(
        cluster::kPod,
        json{
            {"metadata", {{"namespace", "tranche"}, {"name", "agent-x"}, {"labels", {{"a", "b"}}}}},
            {"spec", {{"nodeName", "n"}, {"containers", {{{"name", "c"}}}}}},
            {"status",
             {{"podIP", "127.0.0.1"}, {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}}
            .dump());
  }
  void open(config::WebOptions web = {}) {
    web.address = "127.0.0.1";
    web_ =
        std::make_unique<ClusterWeb>(WorkerContext{.objects = objects_,
                                                   .clock = clock_,
                                                   .log = log_.log(),
                                                   .watches = watches_,
                                                   .leads = [this] { return leads_; }},
                                     ClusterWeb::Options{.web = std::move(web), .ns = "tranche"});
    ASSERT_TRUE(eventually([&] { return web_->port() != 0 && !web_->trouble(); }))
        << web_->trouble().value_or("");
  }
  std::string get(const std::string& path) {
    return test::HttpClient(web_->port()).ask(path, "", "Authorization: Bearer t\r\n");
  }

  bool leads_ = true;
  test::LogRecorder log_;
  test::FakeObjects objects_;
  SystemClock clock_;
  SharedWatches watches_{objects_, log_.log()};
  std::unique_ptr<ClusterWeb> web_;
};

TEST_F(ClusterWebTest, MetricsFollowTheCluster) {
  open();
  const auto page = get("/metrics");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(page, HasSubstr("tranche_capacity_tranches{resource=\"nvidia.com/gpu\",mechanism="
                              "\"exclusive\",state=\"free\"} 3"));
  EXPECT_THAT(page, HasSubstr("cause=\"not-enough\"} 1"));
  put_pod("another", "n", "Running", 2);
  EXPECT_TRUE(eventually([&] { return get("/metrics").contains("state=\"free\"} 1"); }));
  objects_.erase(cluster::kPod, {"team", "another"});
  EXPECT_TRUE(eventually([&] { return get("/metrics").contains("state=\"free\"} 3"); }));
  leads_ = false;
  EXPECT_TRUE(eventually([&] { return !get("/metrics").contains("tranche_capacity_tranches"); }));
}

TEST_F(ClusterWebTest, TheFleetHasWhatAgentsSay) {
  const auto agent = http::Server::open(
      {.tls = false, .address = "127.0.0.1"},
      [](const http::Request& request, const std::stop_token&) {
        return http::Response{.status = request.path == "/usage" ? 200 : 404,
                              .body = usage::to_json({.node = "n", .agent = "9.9"})};
      });
  ASSERT_TRUE(agent);
  put_agent();
  open({.cluster = "prod", .agent_selector = "a=b", .agent_port = (*agent)->port()});
  const auto answer = get("/v1/fleet");
  ASSERT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("Content-Security-Policy: default-src 'none'"));
  const auto fleet = fleet::parse_fleet(answer.substr(answer.find("\r\n\r\n") + 4));
  ASSERT_TRUE(fleet) << fleet.error().message();
  EXPECT_EQ(fleet->cluster, "prod");
  ASSERT_EQ(fleet->nodes.size(), 1U);
  EXPECT_EQ(fleet->nodes[0].reporting, fleet::Reporting::kFresh) << fleet->nodes[0].why;
  EXPECT_EQ(fleet->nodes[0].usage.agent, "9.9");
  ASSERT_EQ(fleet->waiting.size(), 1U);
  EXPECT_EQ(fleet->waiting[0].pod, "waits");
  EXPECT_THAT(get("/metrics"), HasSubstr("tranche_nodes{reporting=\"fresh\"} 1"));
}

TEST_F(ClusterWebTest, WithoutAgentsNodesAreSilent) {
  open();
  EXPECT_THAT(get("/v1/fleet"), HasSubstr("agents are not asked (--agent-selector)"));
  EXPECT_THAT(get("/"), StartsWith("HTTP/1.1 200")) << "the page is part of the program";
}

TEST_F(ClusterWebTest, BeforeTheClusterIsReadNothingIsSaid) {
  objects_.refuse("list", cluster::kPod, {Code::kPermission, "may not list pods"});
  config::WebOptions web{.address = "127.0.0.1"};
  web_ = std::make_unique<ClusterWeb>(
      WorkerContext{.objects = objects_, .clock = clock_, .log = log_.log(), .watches = watches_},
      ClusterWeb::Options{.web = web, .ns = "tranche"});
  ASSERT_TRUE(eventually([&] { return web_->port() != 0; }));
  ASSERT_TRUE(eventually([&] { return get("/metrics").contains("may not list pods"); }));
  EXPECT_THAT(get("/metrics"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(get("/v1/fleet"), StartsWith("HTTP/1.1 503"));
}

TEST(PlanClusterWeb, OnlyWhereItIsAskedFor) {
  EXPECT_FALSE(plan_cluster_web({}));
  const auto plan = plan_cluster_web({.web = config::WebOptions{}});
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->needs_leadership);
}

}  // namespace
}  // namespace tranche::controller::cluster_web_test
