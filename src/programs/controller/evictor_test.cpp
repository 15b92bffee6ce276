#include "controller/evictor.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::controller::evictor_test {
namespace {

using cluster::EvictionRequest;
using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;

class EvictorTest : public testing::Test {
 protected:
  EvictorTest() { start(); }

  void start(std::function<milliseconds()> time_left = {}) {
    evictor_.emplace(
        WorkerContext{.objects = objects_,
                      .clock = clock_,
                      .log = log_.log(),
                      .watches = watches_,
                      .instance = "c-1",
                      .time_left = std::move(time_left),
                      .backoff = {.first = milliseconds(1), .longest = milliseconds(4)}},
        Evictor::Options{.ns = "tranche"});
  }
  // The Pod's uid.
  std::string put_pod(const std::string& ns, const std::string& name, const std::string& node,
                      const std::string& more = "{}") {
    auto pod = json::parse(more);
    pod["metadata"]["name"] = name;
    pod["metadata"]["namespace"] = ns;
    pod["spec"]["nodeName"] = node;
    return objects_.put(cluster::kPod, pod.dump()).uid;
  }
  void ask(const std::string& node, std::vector<EvictionRequest> pods) {
    put_node(node, cluster::encode({.written_at = clock_.wall_now(), .pods = std::move(pods)}));
  }
  void put_node(const std::string& node, const std::string& annotation) {
    const json object = {
        {"metadata",
         {{"name", node},
          {"labels", {{cluster::kEvictRequestsLabel, cluster::kEvictRequestsLabelValue}}},
          {"annotations", {{cluster::kEvictRequestsAnnotation, annotation}}}}}};
    objects_.put(cluster::kNode, object.dump());
  }
  static EvictionRequest request(const std::string& ns, const std::string& name,
                                 const std::string& uid) {
    return {.ns = ns, .name = name, .uid = uid, .container = "main", .device = "GPU-0a"};
  }
  bool is_there(const std::string& ns, const std::string& name) {
    return !objects_.text(cluster::kPod, {.ns = ns, .name = name}).empty();
  }
  bool gone(const std::string& ns, const std::string& name) {
    return test::eventually([&] { return !is_there(ns, name); });
  }
  std::vector<json> events(const std::string& ns) {
    std::vector<json> all;
    const auto list = objects_.list(cluster::kEvent, {.ns = ns});
    for (const auto& item : list->items) all.push_back(json::parse(item.json));
    return all;
  }
  // Waits for an Event with this reason.
  bool told(const std::string& ns, const std::string& reason) {
    return test::eventually([&] {
      return std::ranges::any_of(events(ns),
                                 [&](const auto& event) { return event["reason"] == reason; });
    });
  }
  std::ptrdiff_t calls(const std::string& beginning) { return objects_.count_calls(beginning); }

  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  SharedWatches watches_{
      objects_, log_.log(), {.first = milliseconds(1), .longest = milliseconds(4)}};
  std::optional<Evictor> evictor_;
};

TEST_F(EvictorTest, EvictsWhatItsNodeAsksFor) {
  const auto uid = put_pod("shop", "p", "n1");
  put_pod("shop", "neighbour", "n1");
  ask("n1", {request("shop", "p", uid)});
  ASSERT_TRUE(gone("shop", "p"));
  ASSERT_TRUE(told("shop", "LimitEviction"));
  const auto event = events("shop").at(0);
  EXPECT_EQ(event["regarding"]["uid"], uid);
  EXPECT_THAT(event["note"].get<std::string>(),
              HasSubstr("a process of container main uses GPU-0a, and is not held by the limiter"));
  EXPECT_TRUE(is_there("shop", "neighbour"));
}

TEST_F(EvictorTest, APodOfAnotherNodeIsNotEvicted) {
  const auto uid = put_pod("shop", "p", "n2");
  ask("n1", {request("shop", "p", uid)});
  ASSERT_TRUE(test::eventually([&] { return log_.count("which is bound to n2: refused") == 1; }));
  EXPECT_TRUE(is_there("shop", "p"));
  EXPECT_EQ(calls("evict"), 0);
}

TEST_F(EvictorTest, AnotherPodOfTheSameNameStays) {
  put_pod("shop", "p", "n1");
  ask("n1", {request("shop", "p", "00000000-0000-0000-0000-00000000dead")});
  ASSERT_TRUE(test::eventually([&] { return calls("get pods shop/p") == 1; }));
  const auto uid = put_pod("shop", "q", "n1");
  ask("n1",
      {request("shop", "p", "00000000-0000-0000-0000-00000000dead"), request("shop", "q", uid)});
  ASSERT_TRUE(gone("shop", "q"));
  EXPECT_TRUE(is_there("shop", "p"));
  EXPECT_EQ(calls("get pods shop/p"), 1) << "once is enough";
}

TEST_F(EvictorTest, ProtectedPodsAreReportedOnceAndStay) {
  const auto system = put_pod("kube-system", "s", "n1");
  const auto own = put_pod("tranche", "agent", "n1");
  const auto fixed = put_pod(
      "shop", "static", "n1",
      R"({"metadata":{"annotations":{"kubernetes.io/config.mirror":"x","kubernetes.io/config.hash":"x"}}})");
  const auto critical =
      put_pod("network", "cni", "n1", R"({"spec":{"priorityClassName":"system-node-critical"}})");
  const std::vector<EvictionRequest> all = {
      request("kube-system", "s", system), request("tranche", "agent", own),
      request("network", "cni", critical), request("shop", "static", fixed)};
  ask("n1", all);
  ASSERT_TRUE(told("kube-system", "LimitEvictionRefused"));
  ASSERT_TRUE(told("tranche", "LimitEvictionRefused"));
  ASSERT_TRUE(told("network", "LimitEvictionRefused"));
  ASSERT_TRUE(told("shop", "LimitEvictionRefused"));
  EXPECT_THAT(events("shop")[0]["note"].get<std::string>(), HasSubstr("change its file on n1"));
  clock_.advance(cluster::EvictionRequests::kRefresh);
  ask("n1", all);
  const auto last = put_pod("shop", "p", "n2");
  ask("n2", {request("shop", "p", last)});
  ASSERT_TRUE(gone("shop", "p"));
  EXPECT_EQ(calls("evict"), 1);
  EXPECT_EQ(events("kube-system").size(), 1U);
}

TEST_F(EvictorTest, ADisruptionBudgetIsWaitedForAndReportedOnce) {
  objects_.refuse("evict", cluster::kPod, {Code::kUnavailable, "disruption budget", "wait"}, 3);
  const auto uid = put_pod("shop", "p", "n1");
  ask("n1", {request("shop", "p", uid)});
  ASSERT_TRUE(gone("shop", "p"));
  ASSERT_TRUE(told("shop", "LimitEviction"));
  EXPECT_EQ(calls("evict"), 4);
  const auto all = events("shop");
  EXPECT_EQ(std::ranges::count_if(
                all, [](const auto& one) { return one["reason"] == "LimitEvictionBlocked"; }),
            1);
}

TEST_F(EvictorTest, AWithdrawnRequestIsNotCarriedOut) {
  objects_.refuse("evict", cluster::kPod, {Code::kUnavailable, "disruption budget", "wait"});
  const auto uid = put_pod("shop", "p", "n1");
  ask("n1", {request("shop", "p", uid)});
  ASSERT_TRUE(told("shop", "LimitEvictionBlocked"));
  objects_.put(cluster::kNode, R"({"metadata":{"name":"n1"}})");
  const auto last = put_pod("shop", "q", "n2");
  ask("n2", {request("shop", "q", last)});
  // The watch delivers in order: n1's request was withdrawn before n2 asked.
  ASSERT_TRUE(test::eventually([&] { return calls("evict pods shop/q") > 0; }));
  objects_.recover();
  ASSERT_TRUE(gone("shop", "q"));
  EXPECT_TRUE(is_there("shop", "p"));
}

TEST_F(EvictorTest, AnOldRequestExpires) {
  const auto uid = put_pod("shop", "p", "n1");
  const cluster::EvictionRequests old{
      .written_at = clock_.wall_now() - cluster::EvictionRequests::kValid - std::chrono::seconds(1),
      .pods = {request("shop", "p", uid)}};
  put_node("n1", cluster::encode(old));
  const auto last = put_pod("shop", "q", "n2");
  ask("n2", {request("shop", "q", last)});
  ASSERT_TRUE(gone("shop", "q"));
  EXPECT_TRUE(is_there("shop", "p"));
  ask("n1", {request("shop", "p", uid)});
  EXPECT_TRUE(gone("shop", "p")) << "an agent that lives asks again";
}

TEST_F(EvictorTest, ABrokenAnnotationIsLoggedOnceAndIgnored) {
  const auto said = [&] { return log_.count("Node n1: annotation tranche.dev/evict-requests"); };
  put_node("n1", "{");
  ASSERT_TRUE(test::eventually([&] { return said() == 1; }));
  put_node("n1", "{");
  const auto uid = put_pod("shop", "p", "n1");
  ask("n1", {request("shop", "p", uid)});
  EXPECT_TRUE(gone("shop", "p"));
  EXPECT_EQ(said(), 1) << "the watch is in order: the second one was read before what is done";
}

TEST_F(EvictorTest, WithoutLeadershipNothingIsDone) {
  std::atomic<bool> leads = false;
  start([&] { return leads ? milliseconds(1000) : milliseconds(0); });
  const auto uid = put_pod("shop", "p", "n1");
  ask("n1", {request("shop", "p", uid)});
  ASSERT_TRUE(test::eventually([&] { return log_.count("does not lead") >= 1; }));
  EXPECT_TRUE(is_there("shop", "p"));
  leads = true;
  EXPECT_TRUE(gone("shop", "p"));
  evictor_.reset();
}

}  // namespace
}  // namespace tranche::controller::evictor_test
