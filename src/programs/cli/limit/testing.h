#pragma once
// For the tests of `tranche limit`: a Node n1 with Pod shop/p, and a thread that answers as the
// Node's agent.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/json_value.h"
#include "base/pause.h"
#include "cli/limit/work.h"
#include "cluster/node.h"
#include "support/fake_objects.h"

namespace tranche::cli {

class LimitTest : public testing::Test {
 protected:
  LimitTest() {
    objects_.put(cluster::kNode, R"({"metadata":{"name":"n1"}})");
    uid_ = put_pod("p", "n1", R"([{"name":"main","resources":{"limits":{"nvidia.com/gpu":"1"}}},
                                  {"name":"side"}])");
  }
  std::string put_pod(const std::string& name, const std::string& node,
                      const std::string& containers, const char* phase = "Running") {
    const json::Value pod = {
        {"metadata", {{"name", name}, {"namespace", "shop"}}},
        {"spec", {{"nodeName", node}, {"containers", json::Value::raw(containers)}}},
        {"status", {{"phase", phase}}}};
    return objects_.put(cluster::kPod, pod.text()).uid;
  }
  // Plays the agent: gives this answer to every setting, as long as the test runs.
  void answer(std::function<cluster::LimitOutcome(const cluster::LimitSetting&)> how) {
    agent_ = std::jthread([this, how = std::move(how)](const std::stop_token& stop) {
      while (pause(std::chrono::milliseconds(1), stop)) {
        std::vector<cluster::LimitOutcome> outcomes;
        for (const auto& setting : settings()) outcomes.push_back(how(setting));
        json::Value value;
        if (!outcomes.empty()) value = cluster::encode(outcomes);
        const json::Value patch = {
            {"metadata", {{"annotations", {{cluster::kLimitStatusAnnotation, std::move(value)}}}}}};
        (void)objects_.patch(cluster::kNode, {.ns = "", .name = "n1"},
                             {.json = patch.text(), .subresource = "status"});
      }
    });
  }
  static cluster::LimitOutcome holds(const cluster::LimitSetting& setting) {
    return {.setting = setting,
            .state = cluster::LimitOutcome::State::kHolds,
            .devices = {{.uuid = "GPU-a", .memory_bytes = 8ULL << 30U, .permille = 300}}};
  }
  std::vector<cluster::LimitSetting> settings() {
    const auto node =
        cluster::parse_node(objects_.text(cluster::kNode, {.ns = "", .name = "n1"})).value();
    const auto text = node.annotations.find(cluster::kLimitSettingsAnnotation);
    if (text == node.annotations.end()) return {};
    return cluster::decode_limit_settings(text->second).value();
  }
  config::LimitOptions options(config::LimitOptions::Verb verb,
                               const std::string& memory = "") const {
    return {.verb = verb, .ns = "shop", .pod = "p", .memory = memory};
  }
  Result<LimitReport> run(const config::LimitOptions& options) {
    return run_limit(objects_, options);
  }
  std::string failure(const config::LimitOptions& options) {
    const auto report = run(options);
    EXPECT_FALSE(report);
    return report ? "" : report.error().message();
  }

  test::FakeObjects objects_;
  std::string uid_;
  std::jthread agent_;
};

}  // namespace tranche::cli
