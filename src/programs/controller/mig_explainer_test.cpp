#include "controller/mig_explainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "controller/waiting_pods.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::controller::mig_explainer_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;

class MigExplainerTest : public testing::Test {
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
        WaitingPods::Options{.explainers = {mig_explainer()}, .look = milliseconds(1)});
  }
  void put_node(const std::string& resource) {
    const json node = {{"metadata", {{"name", "gpu-1"}}},
                       {"status", {{"allocatable", {{resource, "28"}}}}}};
    objects_.put(cluster::kNode, node.dump());
  }
  // As the scheduler leaves a Pod without a fitting node.
  void put_pod(const std::string& name, const json& gpus) {
    const json limits = {{"nvidia.com/gpu", gpus}};
    const json pod = {
        {"metadata",
         {{"namespace", "shop"}, {"name", name}, {"creationTimestamp", "2026-01-01T00:00:00Z"}}},
        {"spec", {{"containers", {{{"name", "main"}, {"resources", {{"limits", limits}}}}}}}},
        {"status",
         {{"phase", "Pending"},
          {"conditions",
           {{{"type", "PodScheduled"}, {"status", "False"}, {"message", "Insufficient"}}}}}}};
    objects_.put(cluster::kPod, pod.dump());
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
  std::ptrdiff_t calls(const std::string& beginning) { return objects_.count_calls(beginning); }

  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  SharedWatches watches_{
      objects_, log_.log(), {.first = milliseconds(1), .longest = milliseconds(4)}};
  std::atomic<int> looks_ = 0;
  std::optional<WaitingPods> worker_;
};

TEST_F(MigExplainerTest, APodGetsOneEventWithThePresentLayout) {
  put_node("nvidia.com/mig-1g.10gb");
  put_pod("train", "1");
  start();
  ASSERT_TRUE(test::eventually([&] { return !events().empty(); }));
  ASSERT_TRUE(looks_again());
  ASSERT_EQ(events().size(), 1U);
  const auto event = events().front();
  EXPECT_EQ(event["reason"], "MigLayoutLacks");
  EXPECT_EQ(event["type"], "Warning");
  EXPECT_EQ(event["regarding"]["name"], "train");
  EXPECT_EQ(event["metadata"]["namespace"], "shop");
  EXPECT_THAT(event["note"], HasSubstr("gpu-1 offers nvidia.com/mig-1g.10gb: 28"));
}

TEST_F(MigExplainerTest, AnotherControllerRecordsTheSameEvent) {
  put_node("nvidia.com/mig-1g.10gb");
  put_pod("train", "1");
  start();
  ASSERT_TRUE(test::eventually([&] { return !events().empty(); }));
  worker_.reset();
  const auto before = calls("create events");
  start();
  EXPECT_TRUE(test::eventually([&] { return calls("create events") > before; }));
  EXPECT_EQ(events().size(), 1U);
}

TEST_F(MigExplainerTest, NodesAreReadOnlyWhereAPodWaitsForGpus) {
  put_node("nvidia.com/mig-1g.10gb");
  put_pod("other", "0");
  start();
  ASSERT_TRUE(test::eventually([&] { return !worker_->trouble(); }));
  ASSERT_TRUE(looks_again());
  EXPECT_EQ(calls("list nodes"), 0);
  EXPECT_TRUE(events().empty());
}

TEST_F(MigExplainerTest, AnAbsurdRequestHidesNoOtherPod) {
  put_node("nvidia.com/mig-1g.10gb");
  put_pod("absurd", "1e30");
  put_pod("train", "1");
  start();
  EXPECT_TRUE(test::eventually([&] { return events().size() == 2; }));
}

TEST_F(MigExplainerTest, AnUnavailableApiServerIsAskedAgain) {
  put_node("nvidia.com/mig-1g.10gb");
  put_pod("train", "1");
  objects_.refuse("list", cluster::kNode, {.code = Code::kUnavailable, .what = "away"}, 2);
  start();
  EXPECT_TRUE(test::eventually([&] { return !events().empty(); }));
}

}  // namespace
}  // namespace tranche::controller::mig_explainer_test
