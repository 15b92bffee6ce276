#include "controller/waiting_pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "config/programs/controller_options.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::controller::waiting_pods_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Explains the Pods with "red" in their JSON.
Explainer red() {
  return {.purpose = "telling of red",
          .topic = "red Pods",
          .reason = "Red",
          .may_concern = [](const std::string& text) { return text.contains("red"); },
          .explain = [](const std::vector<cluster::Object>& pods, const Explainer::ListNodes&)
              -> Result<Explainer::Notes> { return Explainer::Notes(pods.size(), "it is red"); }};
}

// The same for "blue", after listing the Nodes.
Explainer blue() {
  return {.purpose = "telling of blue",
          .topic = "blue Pods",
          .reason = "Blue",
          .may_concern = [](const std::string& text) { return text.contains("blue"); },
          .explain = [](const std::vector<cluster::Object>& pods,
                        const Explainer::ListNodes& list_nodes) -> Result<Explainer::Notes> {
            TRY(list_nodes());
            return Explainer::Notes(pods.size(), "it is blue");
          }};
}

class WaitingPodsTest : public testing::Test {
 protected:
  void put_pod(const std::string& name) {
    const json pod = {
        {"metadata",
         {{"namespace", "shop"}, {"name", name}, {"creationTimestamp", "2026-01-01T00:00:00Z"}}},
        {"status", {{"phase", "Pending"}}}};
    objects_.put(cluster::kPod, pod.dump());
  }
  std::vector<std::string> told() {
    std::vector<std::string> all;
    const auto list = objects_.list(cluster::kEvent, {});
    for (const auto& item : list->items) {
      const auto event = json::parse(item.json);
      all.push_back(event["regarding"]["name"].get<std::string>() + ": " +
                    event["reason"].get<std::string>());
    }
    return all;
  }

  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  SharedWatches watches_{
      objects_, log_.log(), {.first = milliseconds(1), .longest = milliseconds(4)}};
  const WorkerContext context_{.objects = objects_,
                               .clock = clock_,
                               .log = log_.log(),
                               .watches = watches_,
                               .instance = "c-1",
                               .backoff = {.first = milliseconds(1), .longest = milliseconds(4)}};
};

TEST_F(WaitingPodsTest, EachExplainerReportsToItsPods) {
  put_pod("red");
  put_pod("blue");
  put_pod("red-and-blue");
  put_pod("white");
  const WaitingPods worker(context_, {.explainers = {red(), blue()}, .look = milliseconds(1)});
  ASSERT_TRUE(test::eventually([&] { return told().size() == 4; }));
  EXPECT_THAT(told(), UnorderedElementsAre("red: Red", "blue: Blue", "red-and-blue: Red",
                                           "red-and-blue: Blue"));
  EXPECT_EQ(objects_.count_calls("list pods"), 1) << "one watch serves both";
}

TEST_F(WaitingPodsTest, AFailingExplainerStopsNoOther) {
  objects_.refuse("list", cluster::kNode, {Code::kUnavailable, "away"});
  put_pod("blue");
  put_pod("red");
  const WaitingPods worker(context_, {.explainers = {blue(), red()}, .look = milliseconds(1)});
  ASSERT_TRUE(test::eventually([&] { return log_.count("blue Pods: away") == 1; }));
  ASSERT_TRUE(test::eventually([&] { return !told().empty(); }));
  EXPECT_THAT(told(), ElementsAre("red: Red"));
  objects_.recover();
  EXPECT_TRUE(test::eventually([&] { return told().size() == 2; }));
}

TEST(PlanWaitingPods, GatesAndModesAreForSharesAndMigForItsChanges) {
  config::ControllerOptions options;
  EXPECT_FALSE(plan_waiting_pods(options));
  options.mig_changes = true;
  EXPECT_THAT(plan_waiting_pods(options)->purposes,
              ElementsAre("telling Pods that wait for GPUs where MIG layouts lack what they ask "
                          "for"));
  options.webhook.emplace();
  EXPECT_EQ(plan_waiting_pods(options)->purposes.size(), 3U);
  options.mig_changes = false;
  EXPECT_THAT(
      plan_waiting_pods(options)->purposes,
      ElementsAre("telling Pods that wait for GPUs when a feature gate of the scheduler is why",
                  "telling Pods that wait for shares of GPUs when no node takes claims"));
  options.webhook->models = {{.product = "Tesla T4"}};  // Pods wait for nodes to come
  EXPECT_THAT(
      plan_waiting_pods(options)->purposes,
      ElementsAre("telling Pods that wait for GPUs when a feature gate of the scheduler is why"));
}

}  // namespace
}  // namespace tranche::controller::waiting_pods_test
