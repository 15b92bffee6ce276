#include "controller/policy_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>

#include "cluster/formats/policy_annotations.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::controller::policy_controller_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;

const cluster::ObjectKey kOut{"gpu", "tranche-policy"};

class PolicyControllerTest : public testing::Test {
 protected:
  void SetUp() override {
    put_map("tranche-policy", {}, {{"app.kubernetes.io/managed-by", "Helm"}});
    put_map("time-slicing-config", {{"a100", "version: v1"}, {"t4", "version: v1"}});
  }
  void put_map(const std::string& name, const json& data, const json& labels = json::object()) {
    json map = {{"metadata", {{"namespace", "gpu"}, {"name", name}, {"labels", labels}}}};
    if (!data.is_null()) map["data"] = data;
    objects_.put(cluster::kConfigMap, map.dump());
  }
  void put_policy(const json& spec, const std::string& name = "cluster-policy") {
    objects_.put(cluster::kClusterPolicy,
                 json{{"metadata", {{"name", name}}}, {"spec", spec}}.dump());
  }
  static json plugin(const std::string& name, const std::string& wanted = "") {
    json config = {{"name", name}};
    if (!wanted.empty()) config["default"] = wanted;
    return {{"devicePlugin", {{"config", config}}}};
  }
  void put_operators_plugin() {
    objects_.put(cluster::kDaemonSet, R"({"metadata": {"namespace": "gpu",
      "name": "nvidia-device-plugin-daemonset", "labels": {"app": "nvidia-device-plugin-daemonset"},
      "ownerReferences": [{"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy",
        "name": "cluster-policy", "uid": "u"}]}})");
  }
  void open() {
    controller_.emplace(
        WorkerContext{.objects = objects_,
                      .clock = clock_,
                      .log = log_.log(),
                      .watches = watches_,
                      .instance = "pod-1",
                      .time_left = time_left_,
                      .backoff = {.first = milliseconds(1), .longest = milliseconds(4)}},
        PolicyController::Options{.ns = "gpu", .out_name = "tranche-policy", .agents = agents_});
  }
  json object(const cluster::Kind& kind, const cluster::ObjectKey& key) {
    const auto text = objects_.text(kind, key);
    return text.empty() ? json() : json::parse(text);
  }
  json out() { return object(cluster::kConfigMap, kOut); }
  std::string annotation(const char* name) {
    return out()["metadata"].value("annotations", json::object()).value(name, "absent");
  }
  std::string reason(const std::string& policy = "cluster-policy") {
    const auto applied = applied_of(objects_.text(cluster::kClusterPolicy, {"", policy}));
    return applied ? applied->reason : "";
  }
  bool says(const std::string& wanted, const std::string& policy = "cluster-policy") {
    return test::eventually([&] { return reason(policy) == wanted; });
  }
  std::vector<json> events() {
    std::vector<json> all;
    const auto list = objects_.list(cluster::kEvent, {});
    if (!list) return all;
    for (const auto& item : list->items) all.push_back(json::parse(item.json));
    return all;
  }
  std::ptrdiff_t calls(const std::string& beginning) { return objects_.count_calls(beginning); }

  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  SharedWatches watches_{
      objects_, log_.log(), {.first = milliseconds(1), .longest = milliseconds(4)}};
  std::function<milliseconds()> time_left_;
  std::string agents_;
  std::optional<PolicyController> controller_;
};

TEST_F(PolicyControllerTest, ThePolicyReachesTheMapAndItsStatus) {
  put_policy(
      {{"devicePlugin", {{"config", {{"name", "time-slicing-config"}, {"default", "a100"}}}}},
       {"mig", {{"strategy", "mixed"}}},
       {"driver", {{"enabled", true}}}});
  open();
  ASSERT_TRUE(says("ConfigFollowed"));
  EXPECT_EQ(out()["data"], json({{"a100", "version: v1"}, {"t4", "version: v1"}}));
  EXPECT_EQ(annotation(cluster::kDefaultAnnotation), "a100");
  EXPECT_EQ(annotation(cluster::kFallbackAnnotation), "empty");
  EXPECT_EQ(annotation(cluster::kMigStrategyAnnotation), "mixed");
  EXPECT_EQ(annotation(cluster::kWithholdAnnotation), "absent");
  EXPECT_EQ(out()["metadata"]["labels"]["app.kubernetes.io/managed-by"], "Helm");
  const auto status = object(cluster::kClusterPolicy, {"", "cluster-policy"})["status"];
  EXPECT_EQ(status["state"], "ready");
  ASSERT_EQ(status["conditions"].size(), 2U);
  EXPECT_EQ(status["conditions"][1]["type"], "TrancheUnservedFields");
  EXPECT_THAT(status["conditions"][1]["message"].get<std::string>(), HasSubstr("driver.enabled"));
  ASSERT_TRUE(test::eventually([&] { return events().size() == 1; }));
  EXPECT_EQ(events()[0]["regarding"]["kind"], "ClusterPolicy");
  EXPECT_EQ(events()[0]["reason"], "ConfigFollowed");
  EXPECT_EQ(events()[0]["type"], "Normal");
}

TEST_F(PolicyControllerTest, APolicyThatNoNodeFollowsIsNotApplied) {
  agents_ = "tranche";
  const auto put_agents = [&](int desired, int ready) {
    objects_.put(cluster::kDaemonSet,
                 json{{"metadata", {{"namespace", "gpu"}, {"name", "tranche"}}},
                      {"status", {{"desiredNumberScheduled", desired}, {"numberReady", ready}}}}
                     .dump());
  };
  put_policy(plugin("time-slicing-config", "a100"));
  put_agents(2, 0);
  open();
  ASSERT_TRUE(says("NoNodeServes"));
  EXPECT_EQ(annotation(cluster::kDefaultAnnotation), "a100") << "agents need it to serve";
  const auto status = [&] {
    return object(cluster::kClusterPolicy, {"", "cluster-policy"})["status"];
  };
  EXPECT_EQ(status()["state"], "notReady");
  EXPECT_THAT(status()["conditions"][0]["message"].get<std::string>(),
              HasSubstr("0 of 2 nodes of DaemonSet gpu/tranche serve"));
  put_agents(2, 1);
  ASSERT_TRUE(says("ConfigFollowed"));
  EXPECT_EQ(status()["state"], "ready");
  put_agents(0, 0);
  ASSERT_TRUE(says("NoNodeServes"));
  EXPECT_THAT(status()["conditions"][0]["message"].get<std::string>(),
              HasSubstr("kubectl label node NODE nvidia.com/gpu.present=true"));
}

// With the agents' DaemonSet and its Pod on each node.
class ServingTest : public PolicyControllerTest {
 protected:
  void SetUp() override {
    PolicyControllerTest::SetUp();
    agents_ = "tranche";
    put_policy(plugin("time-slicing-config", "a100"));
  }
  void put_agents(const std::map<std::string, bool>& ready) {
    for (const auto& [node, is_ready] : ready) put_pod(node, is_ready);
    const json status = {{"desiredNumberScheduled", ready.size()},
                         {"numberReady", std::ranges::count(ready | std::views::values, true)}};
    objects_.put(cluster::kDaemonSet,
                 json{{"metadata", {{"namespace", "gpu"}, {"name", "tranche"}}},
                      {"spec", {{"selector", {{"matchLabels", {{"app", "agent"}}}}}}},
                      {"status", status}}
                     .dump());
  }
  void put_pod(const std::string& node, bool ready) {
    const json condition = {{"type", "Ready"}, {"status", ready ? "True" : "False"}};
    objects_.put(
        cluster::kPod,
        json{{"metadata",
              {{"namespace", "gpu"}, {"name", "agent-" + node}, {"labels", {{"app", "agent"}}}}},
             {"spec", {{"nodeName", node}}},
             {"status", {{"conditions", {condition}}}}}
            .dump());
  }
  void put_node(const std::string& name, const std::string& status, const std::string& reason) {
    json conditions = json::array({{{"type", "Ready"}, {"status", "True"}, {"reason", "x"}}});
    if (!status.empty()) {
      conditions.push_back({{"type", "TrancheServing"}, {"status", status}, {"reason", reason}});
    }
    objects_.put(
        cluster::kNode,
        json{{"metadata", {{"name", name}}}, {"status", {{"conditions", conditions}}}}.dump());
  }
  std::string message() {
    const auto applied = applied_of(objects_.text(cluster::kClusterPolicy, {"", "cluster-policy"}));
    return applied ? applied->message : "";
  }
  bool tells(const std::string& part) {
    return test::eventually([&] { return message().contains(part); });
  }
};

TEST_F(ServingTest, ANodeWhoseKubeletOffersAnotherPluginsListDoesNotServe) {
  put_agents({{"t4", true}});
  put_node("t4", "False", "AnotherPlugin");
  open();
  ASSERT_TRUE(says("NoNodeServes"));
  EXPECT_THAT(message(), HasSubstr("0 of 1 nodes of DaemonSet gpu/tranche serve: t4 "
                                   "(AnotherPlugin): kubectl describe node NODE, condition "
                                   "TrancheServing"));
  put_node("t4", "True", "Serving");
  ASSERT_TRUE(says("ConfigFollowed"));
  put_node("t4", "False", "SocketHeld");
  ASSERT_TRUE(says("NoNodeServes"));
  EXPECT_THAT(message(), HasSubstr("t4 (SocketHeld)"));
  objects_.erase(cluster::kNode, {"", "t4"});
  ASSERT_TRUE(says("ConfigFollowed")) << "a Node that is gone says nothing";
}

TEST_F(ServingTest, NodesThatDoNotServeAreNamedWhileOthersServe) {
  put_agents({{"l20", true}, {"t4", true}});
  put_node("t4", "False", "AnotherPlugin");
  put_node("l20", "True", "Serving");
  open();
  ASSERT_TRUE(says("ConfigFollowed"));
  EXPECT_TRUE(tells("; not on t4 (AnotherPlugin): condition TrancheServing"));
}

TEST_F(ServingTest, ANodeWithoutAConditionIsJudgedByItsPod) {
  put_agents({{"t4", true}});
  for (const auto* const status : {"", "Unknown"}) {
    put_node("t4", status, "KubeletSilent");
    open();
    EXPECT_TRUE(says("ConfigFollowed")) << status;
  }
}

TEST_F(ServingTest, AConditionOfARemovedAgentDoesNotCount) {
  put_agents({{"l20", true}, {"t4", false}});
  put_node("t4", "False", "AnotherPlugin");
  put_node("other", "False", "AnotherPlugin");  // has no agent of this release
  open();
  ASSERT_TRUE(says("ConfigFollowed"));
  EXPECT_FALSE(message().contains("t4"));
  put_agents({{"l20", false}, {"t4", false}});
  put_node("l20", "True", "Serving");
  EXPECT_TRUE(says("NoNodeServes")) << "True says nothing either when its agent is not ready";
}

TEST_F(ServingTest, WithoutTheRightToListPodsTheConditionCountsAlone) {
  objects_.refuse("list", cluster::kPod, {Code::kPermission, "pods is forbidden"});
  put_agents({{"t4", true}});
  put_node("t4", "False", "AnotherPlugin");
  open();
  ASSERT_TRUE(says("NoNodeServes"));
  EXPECT_EQ(annotation(cluster::kDefaultAnnotation), "a100") << "agents need it to serve";
  EXPECT_TRUE(test::eventually([&] { return log_.count("pods is forbidden") > 0; }));
}

TEST_F(ServingTest, PodsAreListedOnlyWhenANodeDoesNotServe) {
  put_agents({{"t4", true}});
  put_node("t4", "True", "Serving");
  open();
  ASSERT_TRUE(says("ConfigFollowed"));
  put_node("new", "", "");
  put_map("time-slicing-config", {{"a100", "version: v1\n"}});
  ASSERT_TRUE(test::eventually([&] { return out()["data"] == json({{"a100", "version: v1\n"}}); }));
  EXPECT_EQ(calls("list pods"), 0);
  put_node("t4", "False", "SocketHeld");
  ASSERT_TRUE(says("NoNodeServes"));
  EXPECT_GT(calls("list pods"), 0);
}

TEST_F(PolicyControllerTest, WithoutAPolicyNothingIsShared) {
  put_policy(plugin("time-slicing-config", "a100"));
  open();
  ASSERT_TRUE(says("ConfigFollowed"));
  objects_.erase(cluster::kClusterPolicy, {"", "cluster-policy"});
  EXPECT_TRUE(test::eventually([&] { return !out().contains("data") || out()["data"].empty(); }));
  EXPECT_TRUE(test::eventually([&] { return annotation(cluster::kDefaultAnnotation).empty(); }));
  EXPECT_EQ(annotation(cluster::kFallbackAnnotation), "empty");
}

TEST_F(PolicyControllerTest, WithoutTheKindNothingIsShared) {
  objects_.serve(cluster::kClusterPolicy, false);
  open();
  EXPECT_TRUE(
      test::eventually([&] { return annotation(cluster::kFallbackAnnotation) == "empty"; }));
  EXPECT_TRUE(annotation(cluster::kDefaultAnnotation).empty());
}

TEST_F(PolicyControllerTest, EveryChangeIsFollowed) {
  put_policy(plugin("time-slicing-config"));
  open();
  ASSERT_TRUE(says("ConfigFollowed"));
  put_map("time-slicing-config", {{"a100", "version: v1\n# new"}});
  EXPECT_TRUE(test::eventually([&] {
    return out()["data"] == json({{"a100", "version: v1\n# new"}});
  })) << "a changed key, and one that is gone";
  put_policy(plugin("other"));
  ASSERT_TRUE(says("ConfigMapMissing"));
  EXPECT_EQ(out()["data"], json({{"a100", "version: v1\n# new"}})) << "nodes keep what they have";
  put_map("other", {{"x", "version: v1"}});
  ASSERT_TRUE(says("ConfigFollowed"));
  EXPECT_EQ(out()["data"], json({{"x", "version: v1"}}));
  EXPECT_EQ(log_.count("does not exist"), 1);
}

TEST_F(PolicyControllerTest, TheLastWrittenContentIsKept) {
  put_map("other", {{"x", "version: v1"}});
  put_policy(plugin("time-slicing-config"));
  open();
  ASSERT_TRUE(says("ConfigFollowed"));
  ASSERT_TRUE(test::eventually([&] { return out()["data"].contains("a100"); }));
  objects_.hold_watches(cluster::kConfigMap, true);
  put_policy(plugin("other"));
  ASSERT_TRUE(test::eventually([&] { return out()["data"] == json({{"x", "version: v1"}}); }));
  put_policy(plugin("missing"));
  ASSERT_TRUE(says("ConfigMapMissing"));
  EXPECT_EQ(out()["data"], json({{"x", "version: v1"}})) << "the cache still shows the one before";
  objects_.hold_watches(cluster::kConfigMap, false);
}

TEST_F(PolicyControllerTest, AnOperatorsPluginIsNotRivalled) {
  put_policy(plugin("time-slicing-config", "a100"));
  put_operators_plugin();
  open();
  ASSERT_TRUE(says("OperatorServes"));
  EXPECT_THAT(annotation(cluster::kWithholdAnnotation), HasSubstr("kubectl patch"));
  auto handed_over = plugin("time-slicing-config", "a100");
  handed_over["devicePlugin"]["enabled"] = false;
  put_policy(handed_over);
  ASSERT_TRUE(says("ConfigFollowed"));
  EXPECT_EQ(annotation(cluster::kWithholdAnnotation), "absent");
  put_policy(plugin("time-slicing-config", "a100"));
  ASSERT_TRUE(says("OperatorServes"));
  objects_.erase(cluster::kDaemonSet, {"gpu", "nvidia-device-plugin-daemonset"});
  ASSERT_TRUE(says("ConfigFollowed"));
}

TEST_F(PolicyControllerTest, TheOldestOfSeveralIsObeyed) {
  // The fake gives all objects one age: the name decides.
  put_policy(plugin("time-slicing-config"), "a");
  put_policy(plugin("missing"), "b");
  open();
  ASSERT_TRUE(says("ConfigFollowed", "a"));
  ASSERT_TRUE(says("Ignored", "b"));
  const auto status = object(cluster::kClusterPolicy, {"", "b"})["status"];
  EXPECT_EQ(status["state"], "ignored");
  EXPECT_THAT(status["conditions"][0]["message"].get<std::string>(), HasSubstr("ClusterPolicy a"));
}

TEST_F(PolicyControllerTest, SomebodyElsesMapIsLeftAlone) {
  put_map("tranche-policy", {{"mine", "x"}});
  put_policy(plugin("time-slicing-config"));
  open();
  ASSERT_TRUE(says("ConfigMapNotWritten"));
  EXPECT_EQ(out()["data"], json({{"mine", "x"}}));
  EXPECT_EQ(calls("apply configmaps"), 0);
  const auto applied = applied_of(objects_.text(cluster::kClusterPolicy, {"", "cluster-policy"}));
  EXPECT_THAT(applied->message, HasSubstr("--config-map-out"));
  put_map("tranche-policy", {{"mine", "x"}}, {{"app.kubernetes.io/managed-by", "tranche"}});
  ASSERT_TRUE(says("ConfigFollowed"));
}

TEST_F(PolicyControllerTest, AMissingMapIsCreatedAndStaysOurs) {
  objects_.erase(cluster::kConfigMap, kOut);
  put_policy(plugin("time-slicing-config"));
  open();
  ASSERT_TRUE(says("ConfigFollowed"));
  EXPECT_EQ(out()["metadata"]["labels"]["app.kubernetes.io/managed-by"], "tranche");
  put_policy(plugin("time-slicing-config", "t4"));
  ASSERT_TRUE(test::eventually([&] { return annotation(cluster::kDefaultAnnotation) == "t4"; }));
  EXPECT_EQ(out()["metadata"]["labels"]["app.kubernetes.io/managed-by"], "tranche");
}

TEST_F(PolicyControllerTest, ADeletedMapIsRecreated) {
  objects_.erase(cluster::kConfigMap, kOut);
  put_policy(plugin("time-slicing-config"));
  open();
  ASSERT_TRUE(says("ConfigFollowed"));
  objects_.erase(cluster::kConfigMap, kOut);
  EXPECT_TRUE(test::eventually([&] { return !out().is_null(); }));
}

TEST_F(PolicyControllerTest, KeysOfOthersStayAndAreNamedOnce) {
  put_map("tranche-policy", {{"theirs", "x"}}, {{"app.kubernetes.io/managed-by", "Helm"}});
  put_policy(plugin("time-slicing-config"));
  open();
  ASSERT_TRUE(says("ConfigFollowed"));
  EXPECT_TRUE(out()["data"].contains("theirs"));
  EXPECT_EQ(log_.count("keys that somebody else put there"), 1);
  const auto applied = calls("apply configmaps");
  put_map("unrelated", {{"a", "b"}});
  put_policy(plugin("missing"));  // any later outcome: the ConfigMap has been compared by then
  ASSERT_TRUE(says("ConfigMapMissing"));
  EXPECT_EQ(calls("apply configmaps"), applied) << "nothing differs that is ours to change";
}

TEST_F(PolicyControllerTest, NothingIsReportedTwice) {
  put_policy(plugin("time-slicing-config"));
  open();
  ASSERT_TRUE(says("ConfigFollowed"));
  ASSERT_TRUE(test::eventually([&] { return events().size() == 1; }));
  controller_.reset();
  open();  // a second controller finds nothing to do
  put_policy(plugin("missing"), "later");
  ASSERT_TRUE(says("Ignored", "later"));
  EXPECT_EQ(calls("apply configmaps"), 1);
  ASSERT_TRUE(test::eventually([&] { return events().size() == 2; }));
  for (const auto& event : events()) {
    EXPECT_EQ(event["regarding"]["name"] == "later", event["reason"] == "Ignored");
  }
}

TEST_F(PolicyControllerTest, OthersConditionsStay) {
  objects_.put(cluster::kClusterPolicy, R"({"metadata": {"name": "cluster-policy"}, "spec": {},
    "status": {"state": "notReady", "namespace": "gpu",
      "conditions": [{"type": "Ready", "status": "False", "reason": "x"}]}})");
  open();
  ASSERT_TRUE(says("NoConfigNamed"));
  const auto status = object(cluster::kClusterPolicy, {"", "cluster-policy"})["status"];
  EXPECT_EQ(status["state"], "notReady");
  EXPECT_EQ(status["conditions"][0]["type"], "Ready");
  EXPECT_EQ(status["conditions"].size(), 3U);
}

TEST_F(PolicyControllerTest, AnUnreadablePolicyChangesNothing) {
  put_policy(plugin("time-slicing-config", "a100"));
  open();
  ASSERT_TRUE(says("ConfigFollowed"));
  put_policy({{"devicePlugin", "yes"}});
  ASSERT_TRUE(says("PolicyUnreadable"));
  EXPECT_EQ(annotation(cluster::kDefaultAnnotation), "a100");
}

TEST_F(PolicyControllerTest, FailuresAreRetriedAndLoggedOnce) {
  objects_.refuse("apply", cluster::kConfigMap, {Code::kUnavailable, "the API server is away"}, 3);
  put_policy(plugin("time-slicing-config"));
  open();
  ASSERT_TRUE(says("ConfigFollowed"));
  EXPECT_EQ(calls("apply configmaps"), 4);
  EXPECT_EQ(log_.count("the API server is away"), 1);
}

TEST_F(PolicyControllerTest, AMissingRightIsReportedInTheStatus) {
  objects_.refuse("apply", cluster::kConfigMap, {Code::kPermission, "configmaps is forbidden"});
  put_policy(plugin("time-slicing-config"));
  open();
  ASSERT_TRUE(says("ConfigMapNotWritten"));
  objects_.recover();
  ASSERT_TRUE(says("ConfigFollowed"));
}

TEST_F(PolicyControllerTest, NothingIsWrittenBeforeTheDaemonSetsAreKnown) {
  objects_.refuse("list", cluster::kDaemonSet, {Code::kPermission, "daemonsets is forbidden"});
  put_policy(plugin("time-slicing-config"));
  open();
  ASSERT_TRUE(test::eventually([&] { return calls("list daemonsets") > 3; }));
  EXPECT_EQ(calls("apply configmaps"), 0);
  EXPECT_EQ(log_.count("daemonsets is forbidden"), 1);
  objects_.recover();
  ASSERT_TRUE(says("ConfigFollowed"));
}

TEST_F(PolicyControllerTest, WithoutLeadershipNothingIsWritten) {
  std::atomic<int> left = 0;
  time_left_ = [&] { return milliseconds(left.load()); };
  put_policy(plugin("time-slicing-config"));
  open();
  ASSERT_TRUE(test::eventually([&] { return log_.count("does not lead") == 1; }));
  EXPECT_EQ(calls("apply"), 0);
  left = 1000;
  ASSERT_TRUE(says("ConfigFollowed"));
  controller_.reset();
}

}  // namespace
}  // namespace tranche::controller::policy_controller_test
