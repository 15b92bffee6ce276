#include "cli/layout/node_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"

namespace tranche::cli {
namespace {

using cluster::MigChange;
using cluster::MigDrain;
using cluster::MigPhase;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kGpu = "nvidia.com/gpu";

// With a Node gpu-1 whose one GPU a Pod of a Deployment holds. In each wait of the command the test
// plays the agent and the controller.
class ApplyOnNode : public testing::Test {
 protected:
  ApplyOnNode() {
    objects_.put(cluster::kNode, R"({"metadata":{"name":"gpu-1","labels":{
        "nvidia.com/mig.config":"all-disabled","nvidia.com/mig.config.state":"success"}},
      "status":{"allocatable":{"nvidia.com/gpu":"1","cpu":"8"},"conditions":[
        {"type":"Ready","status":"True"},{"type":"TrancheMigLayout","status":"True",
         "reason":"MigChanged","message":"the GPUs have the layout all-disabled"}]}})");
    objects_.put(cluster::kPod, R"({"metadata":{"name":"train","namespace":"shop"},
      "spec":{"nodeName":"gpu-1","containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}]},
      "status":{"phase":"Running"}})");
  }
  NodeLayout node() { return read_node_layout(objects_, "gpu-1").value(); }
  void patch(const json::Value& value, const char* subresource = "") {
    ASSERT_TRUE(objects_.patch(cluster::kNode, {.name = "gpu-1"},
                               {.json = value.text(), .subresource = subresource}));
  }
  void label(const char* name, json::Value value) {
    patch({{"metadata", {{"labels", {{name, std::move(value)}}}}}});
  }
  void annotate(const char* name, json::Value value) {
    patch({{"metadata", {{"annotations", {{name, std::move(value)}}}}}});
  }
  MigChange change(MigPhase phase) const {
    return {.id = "1",
            .layout = "all-1g.10gb",
            .phase = phase,
            .written_at = clock_.wall_now(),
            .deadline = clock_.wall_now() + std::chrono::minutes(5),
            .before = {{kGpu, 1}},
            .after = {{"nvidia.com/mig-1g.10gb", 7}},
            .pods = {{"shop", "train"}}};
  }
  void is_in(MigPhase phase) {
    annotate(cluster::kMigChangeAnnotation, cluster::encode(change(phase)));
  }
  void says(const char* state, const char* status, const char* reason, const std::string& message) {
    annotate(cluster::kMigChangeAnnotation, nullptr);
    label(cluster::kMigStateLabel, state);
    json::Value condition = {
        {"type", "TrancheMigLayout"}, {"status", status}, {"reason", reason}, {"message", message}};
    patch({{"status", {{"conditions", json::Value::array({condition})}}}}, "status");
  }
  void succeed() { says("success", "True", "MigChanged", "the GPUs have the layout all-1g.10gb"); }

  // `turns`: the actions in successive waits; then there are none.
  std::string run(const NodeOrder& order, std::vector<std::function<void()>> turns = {}) {
    std::size_t turn = 0;
    const auto done = apply_on_node({.objects = objects_,
                                     .clock = clock_,
                                     .pause =
                                         [&](std::chrono::milliseconds time) {
                                           clock_.advance(time);
                                           if (turn < turns.size()) turns[turn++]();
                                           return !interrupted_;
                                         },
                                     .print = [&](const std::string& text) { printed_ += text; },
                                     .tick = tick_,
                                     .ask = ask_},
                                    order);
    return done ? "done" : done.error().message();
  }
  static NodeOrder small() { return {.node = "gpu-1", .layout = "all-1g.10gb"}; }

  test::FakeObjects objects_;
  test::FakeClock clock_;
  std::function<bool()> ask_;
  std::function<void(const std::string&)> tick_;
  bool interrupted_ = false;
  std::string printed_;
};

TEST_F(ApplyOnNode, FollowsTheChangeToItsEnd) {
  const auto blocked = [&] {
    const MigDrain drain{
        .id = "1",
        .written_at = clock_.wall_now(),
        .cordoned = true,
        .blocked = {{{"shop", "train"}, "PodDisruptionBudget shop/web", clock_.wall_now()}}};
    is_in(MigPhase::kDraining);
    annotate(cluster::kMigDrainAnnotation, cluster::encode(drain));
  };
  EXPECT_EQ(run(small(), {[&] { is_in(MigPhase::kAsking); }, blocked, blocked,
                          [&] { is_in(MigPhase::kChanging); }, [&] { succeed(); }}),
            "done");
  EXPECT_EQ(node().label, "all-1g.10gb");
  for (const char* line :
       {"the label is all-disabled: it is overwritten\n", "MIG layout all-1g.10gb on gpu-1\n",
        "nvidia.com/gpu: 1 -> 0", "shop/train (nvidia.com/gpu: 1): nothing makes it anew",
        "no other node that takes Pods offers it", "asking, 5m00s left\n",
        "draining, 5m00s left\n  held by shop/train: PodDisruptionBudget shop/web; since ",
        "Z, waited for until ", "Z\nchanging, ",
        "gpu-1 has all-1g.10gb: nvidia.com/mig-1g.10gb 7\n"}) {
    EXPECT_THAT(printed_, HasSubstr(line));
  }
}

TEST_F(ApplyOnNode, WhatTheChangeWaitsForIsTold) {
  const auto waits = [&] {
    auto one = change(MigPhase::kChanging);
    one.waits_for = "processes use the GPU: dcgm (pid 12, Pod gpu-operator/dcgm)";
    annotate(cluster::kMigChangeAnnotation, cluster::encode(one));
    EXPECT_THAT(describe(node(), clock_.wall_now()), HasSubstr(one.waits_for));
  };
  EXPECT_EQ(run(small(), {waits, waits, [&] { succeed(); }}), "done");
  EXPECT_THAT(printed_, HasSubstr("  waits: processes use the GPU: dcgm (pid 12, Pod "));
}

TEST_F(ApplyOnNode, WhatTheAgentSaysOfTheLayoutBeforeIsNoEnd) {
  const auto old = [&] { label(cluster::kMigStateLabel, "success"); };
  EXPECT_EQ(run(small(), {old, [] {}, [&] { succeed(); }}), "done");
  EXPECT_EQ(node().condition.message, "the GPUs have the layout all-1g.10gb");
}

TEST_F(ApplyOnNode, ATerminalHasALineWithTheTimeThatIsLeft) {
  std::vector<std::string> ticks;
  tick_ = [&](const std::string& text) { ticks.push_back(text); };
  // Written once: the deadline stays, and time passes.
  EXPECT_EQ(run(small(), {[&] { is_in(MigPhase::kDraining); },
                          [&] { clock_.advance(std::chrono::seconds(10)); }, [&] { succeed(); }}),
            "done");
  EXPECT_THAT(ticks, testing::Contains("waiting for the agent"));
  EXPECT_THAT(ticks, testing::Contains("draining, 4m50s left; Pods that hold it: 1"));
  EXPECT_EQ(ticks.back(), "") << "the line is empty when text follows";
}

TEST_F(ApplyOnNode, AStateBesideNoConditionIsNoEndEither) {
  patch({{"status", {{"conditions", nullptr}}}}, "status");
  annotate(cluster::kMigAppliedAnnotation, "of the layout before");
  const auto old = [&] { label(cluster::kMigStateLabel, "success"); };
  EXPECT_EQ(run(small(), {old, [] {}, [&] { succeed(); }}), "done");
  EXPECT_EQ(node().condition.message, "the GPUs have the layout all-1g.10gb");
}

TEST_F(ApplyOnNode, AFailureIsTold) {
  const auto why = "the layout all-1g.10gb is not in force; the change was undone: NVML: in use";
  EXPECT_THAT(run(small(), {[&] { is_in(MigPhase::kChanging); },
                            [&] { says("failed", "False", "MigChangeFailed", why); }}),
              HasSubstr(why));
  // Again: the state is removed, and the agent tries again.
  EXPECT_EQ(run(small(), {[&] { EXPECT_EQ(node().state, ""); }, [&] { succeed(); }}), "done");
}

TEST_F(ApplyOnNode, AnOutageIsAcceptedForThisLayoutAlone) {
  auto order = small();
  order.accept_outage = true;
  order.wait = false;
  EXPECT_EQ(run(order), "done");
  const auto& annotations = node().node.annotations;
  EXPECT_EQ(cluster::value_of(annotations, cluster::kMigAcceptOutageAnnotation), "all-1g.10gb");
  succeed();
  EXPECT_EQ(run({.node = "gpu-1", .layout = "all-balanced", .wait = false}), "done");
  EXPECT_FALSE(node().node.annotations.contains(cluster::kMigAcceptOutageAnnotation));
}

TEST_F(ApplyOnNode, ADryRunChangesNothing) {
  auto order = small();
  order.dry_run = true;
  const auto before = objects_.text(cluster::kNode, {.name = "gpu-1"});
  EXPECT_EQ(run(order), "done");
  EXPECT_EQ(objects_.text(cluster::kNode, {.name = "gpu-1"}), before);
  EXPECT_THAT(printed_, HasSubstr("at most this leaves service"));
  EXPECT_THAT(printed_, HasSubstr("shop/train (nvidia.com/gpu: 1): nothing makes it anew"));
}

TEST_F(ApplyOnNode, ANoChangesNothing) {
  ask_ = [] { return false; };
  EXPECT_THAT(run(small()), HasSubstr("nothing was changed"));
  EXPECT_EQ(node().label, "all-disabled");
}

TEST_F(ApplyOnNode, IsRefusedEarly) {
  EXPECT_THAT(run({.node = "gpu-9", .layout = "x"}), HasSubstr("gpu-9"));
  is_in(MigPhase::kDraining);
  EXPECT_THAT(run({.node = "gpu-1", .layout = "all-balanced"}),
              HasSubstr("to layout all-1g.10gb is open: draining"));
  annotate(cluster::kMigChangeAnnotation, nullptr);
  label("nvidia.com/mig.capable", "false");
  EXPECT_THAT(run(small()), HasSubstr("no GPU of node gpu-1 has MIG"));
  EXPECT_EQ(node().label, "all-disabled");
}

TEST_F(ApplyOnNode, WithoutAManagerNothingIsChanged) {
  label(cluster::kMigStateLabel, nullptr);
  patch({{"status", {{"conditions", nullptr}}}}, "status");
  const auto refused = run(small());
  EXPECT_THAT(refused, HasSubstr("no agent manages the MIG layouts of node gpu-1; nothing was"));
  EXPECT_THAT(refused, HasSubstr("migManager.enabled=true"));
  EXPECT_EQ(node().label, "all-disabled");
  auto order = small();
  order.dry_run = true;
  EXPECT_THAT(run(order), HasSubstr("no agent manages"));
  order = small();
  order.wait = false;
  EXPECT_EQ(run(order), "done") << "a wish for an agent that comes later";
  EXPECT_EQ(node().label, "all-1g.10gb");
}

TEST_F(ApplyOnNode, ANodeOfNvidiasManagerIsFollowed) {
  label(cluster::kMigStateLabel, nullptr);
  patch({{"status", {{"conditions", nullptr}}}}, "status");
  label("nvidia.com/gpu.deploy.mig-manager", "true");
  EXPECT_EQ(run(small(), {[&] { label(cluster::kMigStateLabel, "success"); }}), "done");
}

TEST_F(ApplyOnNode, WhereNobodyTakesItUpItSaysSo) {
  EXPECT_THAT(run(small()), HasSubstr("no agent of node gpu-1 took up the label in 60 s"));
  EXPECT_THAT(run(small()), HasSubstr("kubectl label node gpu-1 nvidia.com/mig.config-"));
}

TEST_F(ApplyOnNode, TheChangeGoesOnAfterTheTimeAndAfterCtrlC) {
  auto order = small();
  order.timeout = std::chrono::seconds(2);
  const auto late = run(order, {[&] { is_in(MigPhase::kDraining); }});
  EXPECT_THAT(late, HasSubstr("the change is not over after 2 s; the change goes on"));
  EXPECT_THAT(late, HasSubstr("nvidia.com/mig.config=all-disabled --overwrite"));
  interrupted_ = true;
  EXPECT_THAT(run(small()), HasSubstr("interrupted after 0 s; the change goes on"));
}

TEST_F(ApplyOnNode, AnApiServerThatGoesAwayIsWaitedFor) {
  EXPECT_EQ(run(small(), {[&] { is_in(MigPhase::kChanging); },
                          [&] {
                            objects_.refuse("get", cluster::kNode,
                                            {Code::kUnavailable, "connection refused", ""}, 2);
                          },
                          [] {}, [&] { succeed(); }}),
            "done");
  EXPECT_THAT(printed_, HasSubstr("the API server does not answer; the change goes on"));
}

TEST_F(ApplyOnNode, ALayoutThatIsThereIsLeft) {
  EXPECT_EQ(run({.node = "gpu-1", .layout = "all-disabled"}), "done");
  EXPECT_THAT(printed_, HasSubstr("gpu-1 has all-disabled already"));
  EXPECT_THAT(objects_.calls(), Not(testing::Contains(HasSubstr("apply"))));
}

TEST(NodeLayout, ANodesTextsDoNotReachTheTerminalAsTheyAre) {
  const auto layout = read_node_layout(R"({"metadata":{"name":"n"},"status":{"conditions":[
    {"type":"TrancheMigLayout","status":"False","reason":"MigNotChanged",
     "message":"\u001b[2Jfine"}]}})");
  ASSERT_TRUE(layout);
  EXPECT_THAT(describe(*layout, {}), HasSubstr("MigNotChanged: ?[2Jfine\n"));
}

TEST(NodeLayout, ADeadlineOfLongAgoIsPast) {
  NodeLayout layout;
  layout.change = MigChange{.phase = MigPhase::kDraining,
                            .deadline = cluster::WallTime(std::chrono::hours(-24 * 365 * 290))};
  const cluster::WallTime now{std::chrono::seconds(1'767'225'600)};
  EXPECT_EQ(phase_text(layout, now), "draining, no time left");
}

TEST(NodeLayout, TheLabelsOwnerIsRead) {
  const auto layout = read_node_layout(R"({"metadata":{"name":"n","labels":
    {"nvidia.com/mig.config":"x"},"managedFields":[{"manager":"kubectl-label","fieldsV1":
    {"f:metadata":{"f:labels":{"f:nvidia.com/mig.config":{}}}}}]}})");
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->label_set_by, "kubectl-label");
  EXPECT_FALSE(layout->has_manager());
}

}  // namespace
}  // namespace tranche::cli
