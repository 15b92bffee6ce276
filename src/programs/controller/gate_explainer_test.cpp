#include "controller/gate_explainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "controller/waiting_pods.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::controller::gate_explainer_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;

// As kube-scheduler 1.36.3 writes it.
constexpr const char* kRefused =
    "running \"DynamicResources\" filter plugin: claim shop/half-gpu-x7k2p, subrequest l20: has "
    "capacity requests, but the DRAConsumableCapacity feature is disabled";

json pod(const std::string& name, const json& condition) {
  return {{"metadata",
           {{"namespace", "shop"}, {"name", name}, {"creationTimestamp", "2026-01-01T00:00:00Z"}}},
          {"status", {{"phase", "Pending"}, {"conditions", {condition}}}}};
}

json not_scheduled(const std::string& message) {
  return {{"type", "PodScheduled"},
          {"status", "False"},
          {"reason", "SchedulerError"},
          {"message", message}};
}

std::string gate_of(const json& condition) {
  const auto text = pod("p", condition).dump();
  return gate_off_at_scheduler(tranche::json::parse(text).value());
}

TEST(GateOffAtScheduler, IsTheGateInTheMessage) {
  auto scheduled = not_scheduled(kRefused);
  scheduled["status"] = "True";
  auto other = not_scheduled(kRefused);
  other["type"] = "Ready";
  struct Case {
    const char* name;
    json condition;
    const char* gate;
  };
  const Case cases[] = {
      {"refused", not_scheduled(kRefused), "DRAConsumableCapacity"},
      {"another gate",
       not_scheduled("resource claim a/b, request gpu: has subrequests, but the "
                     "DRAPrioritizedList feature is disabled"),
       "DRAPrioritizedList"},
      {"no room", not_scheduled("0/2 nodes are available: 2 cannot allocate all claims."), ""},
      {"a feature of somebody else's",
       not_scheduled("the volume is odd, but the MyOwn feature is disabled"), ""},
      {"no word", not_scheduled("x, but the DRA/x feature is disabled"), ""},
      {"scheduled since", scheduled, ""},
      {"another condition", other, ""},
      {"cut off", not_scheduled(", but the "), ""},
      {"nothing", json::object(), ""},
  };
  for (const auto& [name, condition, gate] : cases) EXPECT_EQ(gate_of(condition), gate) << name;
}

class GateExplainerTest : public testing::Test {
 protected:
  void start() {
    worker_.emplace(
        WorkerContext{.objects = objects_,
                      .clock = clock_,
                      .log = log_.log(),
                      .watches = watches_,
                      .instance = "c-1",
                      .time_left =
                          [this] {
                            ++looks_;
                            return milliseconds(60'000);
                          },
                      .backoff = {.first = milliseconds(1), .longest = milliseconds(4)}},
        WaitingPods::Options{.explainers = {gate_explainer()}, .look = milliseconds(1)});
  }
  std::vector<json> events() {
    std::vector<json> found;
    const auto list = objects_.list(cluster::kEvent, {});
    for (const auto& item : list->items) found.push_back(json::parse(item.json));
    return found;
  }
  bool looks_again() {
    const int before = looks_;
    return test::eventually([&] { return looks_ > before + 3; });
  }

  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  SharedWatches watches_{
      objects_, log_.log(), {.first = milliseconds(1), .longest = milliseconds(4)}};
  std::atomic<int> looks_ = 0;
  std::optional<WaitingPods> worker_;
};

TEST_F(GateExplainerTest, OnlyAWaitingPodGetsAnEventAndOnlyOnce) {
  objects_.put(cluster::kPod, pod("half", not_scheduled(kRefused)).dump());
  objects_.put(cluster::kPod, pod("full", not_scheduled("cannot allocate all claims")).dump());
  start();
  ASSERT_TRUE(test::eventually([&] { return !events().empty(); }));
  ASSERT_TRUE(looks_again());
  ASSERT_EQ(events().size(), 1U);
  const auto event = events().front();
  EXPECT_EQ(event["reason"], "FeatureGatesOff");
  EXPECT_EQ(event["type"], "Warning");
  EXPECT_EQ(event["regarding"]["kind"], "Pod");
  EXPECT_EQ(event["regarding"]["name"], "half");
  EXPECT_THAT(event["note"],
              HasSubstr("kube-scheduler --feature-gates=DRAConsumableCapacity=true"));
}

TEST_F(GateExplainerTest, ReportsWhyNothingIsKnown) {
  objects_.refuse("list", cluster::kPod, {.code = Code::kUnavailable, .what = "away"});
  start();
  EXPECT_TRUE(test::eventually([&] { return worker_->trouble().has_value(); }));
  objects_.recover();
  EXPECT_TRUE(test::eventually([&] { return !worker_->trouble(); }));
}

}  // namespace
}  // namespace tranche::controller::gate_explainer_test
