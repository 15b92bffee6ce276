#include "agent/cleanup/daemon_set_rollout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"

namespace tranche::agent::daemon_set_rollout_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

const cluster::ObjectKey kKey{"gpu", "tranche"};

class DaemonSetRolloutTest : public testing::Test {
 protected:
  DaemonSetRolloutTest() { put_set(1, 1, 2, 2, 2); }

  void put_set(int generation, int observed, int desired, int updated, int ready) {
    const json set = {
        {"metadata",
         {{"namespace", "gpu"},
          {"name", "tranche"},
          {"generation", generation},
          {"annotations",
           {{"deprecated.daemonset.template.generation", "2"},
            {"meta.helm.sh/release-name", "gpu"}}}}},
        {"spec", {{"selector", {{"matchLabels", {{"app", "tranche"}}}}}, {"x", generation}}},
        {"status",
         {{"observedGeneration", observed},
          {"desiredNumberScheduled", desired},
          {"updatedNumberScheduled", updated},
          {"numberReady", ready}}}};
    objects_.put(cluster::kDaemonSet, set.dump());
  }
  // As after a first installation: the template has never been changed.
  void put_new_set(int desired) {
    put_set(1, 1, desired, 0, 0);
    auto set = json::parse(objects_.text(cluster::kDaemonSet, kKey));
    set["metadata"]["annotations"]["deprecated.daemonset.template.generation"] = "1";
    objects_.put(cluster::kDaemonSet, set.dump());
  }
  void put_status(int desired, int updated, int ready) {
    auto set = json::parse(objects_.text(cluster::kDaemonSet, kKey));
    set["status"] = {{"observedGeneration", set["metadata"]["generation"]},
                     {"desiredNumberScheduled", desired},
                     {"updatedNumberScheduled", updated},
                     {"numberReady", ready}};
    ASSERT_TRUE(objects_.update(cluster::kDaemonSet, kKey, set.dump(), "status"));
  }
  void put_pod(const std::string& name, const std::string& node, const std::string& generation,
               bool ready, const std::string& label = "tranche", const json& container = {}) {
    objects_.put(cluster::kPod,
                 json{{"metadata",
                       {{"namespace", "gpu"},
                        {"name", name},
                        {"labels", {{"app", label}, {"pod-template-generation", generation}}}}},
                      {"spec", {{"nodeName", node}, {"containers", json::array()}}},
                      {"status",
                       {{"conditions", {{{"type", "Ready"}, {"status", ready ? "True" : "False"}}}},
                        {"containerStatuses",
                         container.is_null() ? json::array() : json::array({container})}}}}
                     .dump());
  }
  // `steps[i]` runs during wait number i. The rollout is stopped after `waits` waits.
  Result<void> roll_out(std::vector<std::function<void()>> steps = {}, std::size_t waits = 1000) {
    std::size_t waited = 0;
    return agent::roll_out(
        objects_, {kKey, R"({"spec": {"patched": true}})", seconds(120), claims_},
        [&](milliseconds time) {
          clock_.advance(time);
          if (waited < steps.size()) steps[waited]();
          return ++waited < waits;
        },
        clock_, log_.log());
  }

  Claims claims_ = Claims::kStop;
  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
};

TEST_F(DaemonSetRolloutTest, WaitsForEveryNode) {
  const auto result = roll_out({[this] { put_status(2, 0, 2); }, [this] { put_status(2, 1, 1); },
                                [this] { put_status(2, 2, 1); }, [this] { put_status(2, 2, 2); }});
  EXPECT_TRUE(result) << result.error().message();
  EXPECT_TRUE(json::parse(objects_.text(cluster::kDaemonSet, kKey))["spec"]["patched"]);
  EXPECT_EQ(log_.count("the change is not seen yet"), 1) << "the old status does not count";
  EXPECT_EQ(log_.count("0 of 2 nodes are done"), 1);
  EXPECT_EQ(log_.count("1 of 2 nodes are done"), 1) << "said when it changes";
  EXPECT_EQ(log_.count("all 2 nodes are done"), 1);
}

TEST_F(DaemonSetRolloutTest, NamesTheNodesThatDidNotFinish) {
  put_pod("done", "n0", "2", true);
  put_pod("slow", "n1", "2", false);
  put_pod("old", "n2", "1", true);
  put_pod("foreign", "n3", "1", false, "other");
  const auto result = roll_out({[this] { put_status(4, 2, 1); }});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kTimeout);
  const auto message = result.error().message();
  EXPECT_THAT(message, HasSubstr("not done after 120 s"));
  EXPECT_THAT(message, HasSubstr("n1 (Pod gpu/slow is not ready)"));
  EXPECT_THAT(message, HasSubstr("n2 (Pod gpu/old is still the old one)"));
  EXPECT_THAT(message, HasSubstr("1 nodes have no Pod of it"));
  EXPECT_THAT(message, HasSubstr("helm uninstall --no-hooks"));
  EXPECT_THAT(message, Not(HasSubstr("n0")));
  EXPECT_THAT(message, Not(HasSubstr("n3")));
}

TEST_F(DaemonSetRolloutTest, WithoutADaemonSetThereIsNothingToDo) {
  objects_.erase(cluster::kDaemonSet, kKey);
  EXPECT_TRUE(roll_out());
  EXPECT_EQ(log_.count("there is no DaemonSet gpu/tranche"), 1);
}

TEST_F(DaemonSetRolloutTest, WhatHelmDidNotInstallIsNotChanged) {
  objects_.put(cluster::kDaemonSet,
               R"({"metadata": {"namespace": "gpu", "name": "tranche", "annotations": {}}})");
  const auto before = objects_.text(cluster::kDaemonSet, kKey);
  EXPECT_TRUE(roll_out());
  EXPECT_EQ(objects_.text(cluster::kDaemonSet, kKey), before);
  EXPECT_EQ(log_.count("was not installed by Helm"), 1);
}

TEST_F(DaemonSetRolloutTest, AfterAFailedInstallationThereIsNothingToWaitFor) {
  put_new_set(2);
  const auto before = objects_.text(cluster::kDaemonSet, kKey);
  EXPECT_TRUE(roll_out({}, 0)) << "no Pod could be made";
  put_pod("p", "n1", "1", false, "tranche",
          {{"name", "agent"}, {"state", {{"waiting", {{"reason", "ImagePullBackOff"}}}}}});
  EXPECT_TRUE(roll_out({}, 0)) << "none could be started";
  EXPECT_EQ(objects_.text(cluster::kDaemonSet, kKey), before);
  EXPECT_EQ(log_.count("has ever started a container"), 2);
}

TEST_F(DaemonSetRolloutTest, OnePodThatRanIsEnoughToClear) {
  const auto done = [this] { put_status(2, 2, 2); };
  put_new_set(2);
  put_pod("never", "n0", "1", false);
  put_pod("ended", "n1", "1", false, "tranche",
          {{"name", "agent"}, {"containerID", "containerd://3f2a"}, {"restartCount", 1}});
  EXPECT_TRUE(roll_out({done}));
  EXPECT_TRUE(json::parse(objects_.text(cluster::kDaemonSet, kKey))["spec"]["patched"]);
}

// A release that ran, and an upgrade after which no Pod can be made.
TEST_F(DaemonSetRolloutTest, AfterAnUpgradeNodesAreClearedWhateverRunsNow) {
  put_set(2, 2, 2, 0, 0);
  EXPECT_FALSE(roll_out({}, 1));
  EXPECT_TRUE(json::parse(objects_.text(cluster::kDaemonSet, kKey))["spec"]["patched"]);
}

TEST_F(DaemonSetRolloutTest, PodsThatCannotBeListedMayHaveRun) {
  put_new_set(2);
  objects_.refuse("list", cluster::kPod, {Code::kPermission, "forbidden"});
  EXPECT_FALSE(roll_out({}, 1));
  EXPECT_FALSE(json::parse(objects_.text(cluster::kDaemonSet, kKey))["spec"].contains("patched"))
      << "nor is it known which claims are in use";
  claims_ = Claims::kGoOn;
  EXPECT_FALSE(roll_out({}, 1));
  EXPECT_TRUE(json::parse(objects_.text(cluster::kDaemonSet, kKey))["spec"]["patched"]);
}

// Their Pods end only while agents run.
TEST_F(DaemonSetRolloutTest, WhileClaimsAreInUseNothingIsChangedUnlessItIsForced) {
  put_pod("agent", "n1", "2", true);
  objects_.put(cluster::kResourceClaim, R"({
      "metadata": {"namespace": "team", "name": "half", "uid": "u"},
      "status": {"reservedFor": [{"resource": "pods", "name": "train", "uid": "p"}],
                 "allocation": {"devices": {"results": [{"request": "gpu", "pool": "gpu-n1",
                     "driver": "gpu.nvidia.com", "device": "gpu-0"}]}}}})");
  const auto refused = roll_out();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("team/half on n1 (of train)"));
  EXPECT_FALSE(json::parse(objects_.text(cluster::kDaemonSet, kKey))["spec"].contains("patched"));
  claims_ = Claims::kGoOn;
  EXPECT_FALSE(roll_out({}, 1)) << "told to stop";
  EXPECT_TRUE(json::parse(objects_.text(cluster::kDaemonSet, kKey))["spec"]["patched"]);
}

TEST_F(DaemonSetRolloutTest, WithoutNodesItIsDone) {
  EXPECT_TRUE(roll_out({[this] { put_status(0, 0, 0); }}));
}

TEST_F(DaemonSetRolloutTest, WhatMayPassIsTriedAgain) {
  objects_.refuse("patch", cluster::kDaemonSet, {Code::kUnavailable, "away"}, 2);
  const auto done = [this] { put_status(1, 1, 1); };
  EXPECT_TRUE(roll_out({[] {}, [] {}, done}));
  EXPECT_EQ(log_.count("away"), 1);
}

TEST_F(DaemonSetRolloutTest, WhatIsRefusedEndsIt) {
  objects_.refuse("patch", cluster::kDaemonSet, {Code::kPermission, "forbidden", "grant it"});
  const auto result = roll_out();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kPermission);
}

TEST_F(DaemonSetRolloutTest, StopsWhenTold) {
  const auto result = roll_out({}, 3);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kUnavailable);
  EXPECT_THAT(result.error().message(), HasSubstr("told to stop"));
}

}  // namespace
}  // namespace tranche::agent::daemon_set_rollout_test
