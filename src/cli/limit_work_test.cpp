#include "cli/limit_work.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "cli/limit_order.h"
#include "cli/limit_overview.h"
#include "cli/limit_show.h"
#include "cluster/node.h"
#include "cluster/pause.h"
#include "support/fake_objects.h"

namespace tranche::cli {
namespace {

using cluster::LimitOutcome;
using cluster::LimitSetting;
using config::LimitOptions;
using nlohmann::json;
using testing::HasSubstr;
using Verb = LimitOptions::Verb;

class LimitWorkTest : public testing::Test {
 protected:
  LimitWorkTest() {
    objects_.put(cluster::kNode, R"({"metadata":{"name":"n1"}})");
    uid_ = put_pod("p", "n1", R"([{"name":"main","resources":{"limits":{"nvidia.com/gpu":"1"}}},
                                  {"name":"side"}])");
  }
  std::string put_pod(const std::string& name, const std::string& node,
                      const std::string& containers, const char* phase = "Running") {
    const json pod = {{"metadata", {{"name", name}, {"namespace", "shop"}}},
                      {"spec", {{"nodeName", node}, {"containers", json::parse(containers)}}},
                      {"status", {{"phase", phase}}}};
    return objects_.put(cluster::kPod, pod.dump()).uid;
  }
  // Stands in for the agent: answers every setting so, as long as the test runs.
  void answer(std::function<LimitOutcome(const LimitSetting&)> how) {
    agent_ = std::jthread([this, how = std::move(how)](const std::stop_token& stop) {
      while (cluster::pause(std::chrono::milliseconds(1), stop)) {
        std::vector<LimitOutcome> outcomes;
        for (const auto& setting : settings()) outcomes.push_back(how(setting));
        json value;
        if (!outcomes.empty()) value = cluster::encode(outcomes);
        const json patch = {
            {"metadata", {{"annotations", {{cluster::kLimitStatusAnnotation, std::move(value)}}}}}};
        (void)objects_.patch(cluster::kNode, {.ns = "", .name = "n1"},
                             {.json = patch.dump(), .subresource = "status"});
      }
    });
  }
  static LimitOutcome holds(const LimitSetting& setting) {
    return {.setting = setting,
            .state = LimitOutcome::State::kHolds,
            .devices = {{.uuid = "GPU-a", .memory_bytes = 8ULL << 30U, .permille = 300}}};
  }
  std::vector<LimitSetting> settings() {
    const auto node =
        cluster::parse_node(objects_.text(cluster::kNode, {.ns = "", .name = "n1"})).value();
    const auto text = node.annotations.find(cluster::kLimitSettingsAnnotation);
    if (text == node.annotations.end()) return {};
    return cluster::decode_limit_settings(text->second).value();
  }
  LimitOptions options(Verb verb, const std::string& memory = "") const {
    return {.verb = verb, .ns = "shop", .pod = "p", .memory = memory};
  }
  Result<LimitReport> run(const LimitOptions& options) { return run_limit(objects_, options); }
  std::string failure(const LimitOptions& options) {
    const auto report = run(options);
    EXPECT_FALSE(report);
    return report ? "" : report.error().message();
  }

  test::FakeObjects objects_;
  std::string uid_;
  std::jthread agent_;
};

TEST_F(LimitWorkTest, SetsTheOnlyContainerAndWaitsForTheAgent) {
  answer(holds);
  auto wanted = options(Verb::kSet, "8Gi");
  wanted.compute = "30%";
  const auto report = run(wanted);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->finding, "");
  ASSERT_EQ(settings().size(), 1U);
  EXPECT_EQ(settings()[0], (LimitSetting{.ns = "shop",
                                         .pod = "p",
                                         .uid = uid_,
                                         .container = "main",
                                         .resource = "nvidia.com/gpu",
                                         .memory = "8Gi",
                                         .compute = "30%"}));
  EXPECT_THAT(show(*report, wanted), HasSubstr("GPU-a: memory 8192 MiB, compute 30%"));
}

TEST_F(LimitWorkTest, WhatIsNotNamedStaysAsItWasSet) {
  answer(holds);
  ASSERT_TRUE(run(options(Verb::kSet, "8Gi")));
  auto more = options(Verb::kSet);
  more.compute = "10%";
  ASSERT_TRUE(run(more));
  ASSERT_EQ(settings().size(), 1U);
  EXPECT_EQ(settings()[0].memory, "8Gi");
  EXPECT_EQ(settings()[0].compute, "10%");
}

TEST_F(LimitWorkTest, WhatIsRefusedIsTakenBack) {
  answer([](const LimitSetting& setting) {
    if (setting.memory == "1Gi") return holds(setting);
    return LimitOutcome{.setting = setting,
                        .state = LimitOutcome::State::kRefused,
                        .message = "cannot be kept",
                        .devices = {}};
  });
  ASSERT_TRUE(run(options(Verb::kSet, "1Gi")));
  const auto report = run(options(Verb::kSet, "80Gi"));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->finding, "refused: cannot be kept");
  ASSERT_EQ(settings().size(), 1U);
  EXPECT_EQ(settings()[0].memory, "1Gi") << "what was set before stands";
  const auto again = run(options(Verb::kSet, "1Gi"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->finding, "");
}

TEST_F(LimitWorkTest, WhatHoldsStaysInTheOrderUntilTheNewOneHolds) {
  std::mutex mutex;
  std::set<std::string> seen;  // every order that stood: its memories
  const auto watch = [&](const std::vector<LimitSetting>& order) {
    std::string line;
    for (const auto& one : order) line += one.memory + ' ';
    const std::scoped_lock lock(mutex);
    seen.insert(line);
  };
  answer([&](const LimitSetting& setting) {
    watch(settings());
    auto outcome = holds(setting);
    if (setting.memory == "80Gi") outcome.state = LimitOutcome::State::kRefused;
    return outcome;
  });
  ASSERT_TRUE(run(options(Verb::kSet, "1Gi")));
  ASSERT_TRUE(run(options(Verb::kSet, "2Gi")));
  ASSERT_EQ(settings().size(), 1U) << "the one before is taken away";
  ASSERT_TRUE(run(options(Verb::kSet, "80Gi")));
  agent_ = {};
  EXPECT_EQ(settings().at(0).memory, "2Gi");
  EXPECT_EQ(settings().size(), 1U);
  seen.erase("2Gi ");  // whether it was looked at in between
  EXPECT_THAT(seen, testing::ElementsAre("1Gi ", "2Gi 1Gi ", "80Gi 2Gi "));
}

// A command that was killed has left a setting that is refused: the next is not made on top of it.
TEST_F(LimitWorkTest, ASettingThatWasLeftRefusedIsPassedOver) {
  const auto of = [&](const char* memory) {
    return LimitSetting{.ns = "shop",
                        .pod = "p",
                        .uid = uid_,
                        .container = "main",
                        .resource = "nvidia.com/gpu",
                        .memory = memory};
  };
  const auto refused = LimitOutcome{.setting = of("80Gi"), .state = LimitOutcome::State::kRefused};
  const json node = {
      {"metadata",
       {{"name", "n1"},
        {"annotations",
         {{cluster::kLimitSettingsAnnotation, cluster::encode(std::vector{of("80Gi"), of("1Gi")})},
          {cluster::kLimitStatusAnnotation,
           cluster::encode(std::vector{refused, holds(of("1Gi"))})}}}}}};
  objects_.put(cluster::kNode, node.dump());
  answer([&](const LimitSetting& setting) {
    return setting.memory == "80Gi" ? LimitOutcome{.setting = setting, .state = refused.state}
                                    : holds(setting);
  });
  auto more = options(Verb::kSet);
  more.compute = "10%";
  ASSERT_TRUE(run(more));
  ASSERT_EQ(settings().size(), 1U);
  EXPECT_EQ(settings()[0].memory, "1Gi");
  EXPECT_EQ(settings()[0].compute, "10%");
}

TEST_F(LimitWorkTest, ANodeWhoseAgentDoesNotAnswer) {
  auto wanted = options(Verb::kSet, "8Gi");
  wanted.timeout = std::chrono::milliseconds(1);
  const auto report = run(wanted);
  ASSERT_TRUE(report);
  EXPECT_THAT(report->finding, HasSubstr("the agent of node n1 does not answer"));
  EXPECT_EQ(settings().size(), 1U) << "the order stays";
  const auto got = run(options(Verb::kGet));
  ASSERT_TRUE(got);
  EXPECT_THAT(got->finding, HasSubstr("has not answered yet"));
}

TEST_F(LimitWorkTest, ResetTakesAwayWhatIsSetOfThePod) {
  answer(holds);
  put_pod("q", "n1", R"([{"name":"main","resources":{"limits":{"nvidia.com/gpu":"1"}}}])");
  auto other = options(Verb::kSet, "1Gi");
  other.pod = "q";
  ASSERT_TRUE(run(other));
  ASSERT_TRUE(run(options(Verb::kSet, "8Gi")));
  ASSERT_EQ(settings().size(), 2U);
  const auto report = run(options(Verb::kReset));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->finding, "");
  ASSERT_EQ(settings().size(), 1U);
  EXPECT_EQ(settings()[0].pod, "q");
  EXPECT_THAT(show(*report, options(Verb::kReset)), HasSubstr("nothing is set"));
}

TEST_F(LimitWorkTest, SettingsOfPodsThatAreGoneLeave) {
  answer(holds);
  put_pod("q", "n1", R"([{"name":"main","resources":{"limits":{"nvidia.com/gpu":"1"}}}])");
  auto other = options(Verb::kSet, "1Gi");
  other.pod = "q";
  ASSERT_TRUE(run(other));
  objects_.erase(cluster::kPod, {.ns = "shop", .name = "q"});
  ASSERT_TRUE(run(options(Verb::kSet, "8Gi")));
  ASSERT_EQ(settings().size(), 1U);
  EXPECT_EQ(settings()[0].pod, "p");
}

TEST_F(LimitWorkTest, SomebodyElsesWriteInBetweenIsNotLost) {
  objects_.refuse("patch", cluster::kNode, {Code::kFailedPrecondition, "changed meanwhile", ""}, 2);
  auto wanted = options(Verb::kSet, "8Gi");
  wanted.timeout = std::chrono::milliseconds(1);
  ASSERT_TRUE(run(wanted));
  EXPECT_EQ(settings().size(), 1U);
}

TEST_F(LimitWorkTest, GetShowsEachForm) {
  answer(holds);
  ASSERT_TRUE(run(options(Verb::kSet, "8Gi")));
  auto wanted = options(Verb::kGet);
  const auto report = run(wanted);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->finding, "");
  EXPECT_THAT(show(*report, wanted), HasSubstr("CONTAINER"));
  EXPECT_THAT(show(*report, wanted), HasSubstr("8Gi"));
  wanted.output = LimitOptions::Output::kJson;
  const auto shown = json::parse(show(*report, wanted));
  EXPECT_EQ(shown[0]["state"], "holds");
  EXPECT_EQ(shown[0]["devices"][0]["permille"], 300);
  wanted.output = LimitOptions::Output::kYaml;
  EXPECT_THAT(show(*report, wanted), testing::StartsWith("-\n  namespace: \"shop\"\n"));
  EXPECT_THAT(show(*report, wanted), HasSubstr("      permille: 300\n"));
  wanted.container = "side";
  EXPECT_TRUE(run(wanted)->outcomes.empty());
}

TEST_F(LimitWorkTest, ListShowsAllAndPruneTakesAwayWhatIsGone) {
  const auto of = [&](const std::string& pod, const std::string& uid) {
    return LimitSetting{.ns = "shop",
                        .pod = pod,
                        .uid = uid,
                        .container = "main",
                        .resource = "nvidia.com/gpu",
                        .memory = "1Gi"};
  };
  constexpr auto kContainers = R"([{"name":"main"}])";
  const auto ended = of("ended", put_pod("ended", "n1", kContainers, "Succeeded"));
  const auto moved = of("moved", put_pod("moved", "n2", kContainers));
  const auto gone = of("gone", "00000000-0000-0000-0000-00000000dead");
  const auto put_node = [&](const char* name, const std::string& order) {
    const json node = {
        {"metadata",
         {{"name", name}, {"annotations", {{cluster::kLimitSettingsAnnotation, order}}}}}};
    objects_.put(cluster::kNode, node.dump());
  };
  put_node("n1", cluster::encode(std::vector{of("p", uid_), ended, gone, moved}));
  put_node("n2", cluster::encode(std::vector{gone}));
  put_node("n3", "{");
  objects_.put(cluster::kNode, R"({"metadata":{"name":"n4"}})");
  const auto gone_of = [](const LimitOverview& overview) {
    std::vector<std::string> pods;
    for (const auto& one : overview.limits) {
      if (one.gone) pods.push_back(one.node + "/" + one.outcome.setting.pod);
    }
    return pods;
  };
  const std::vector<std::string> all_gone = {"n1/ended", "n1/gone", "n1/moved", "n2/gone"};

  const auto listed = list_limits(objects_, "");
  ASSERT_TRUE(listed) << listed.error().message();
  EXPECT_EQ(listed->limits.size(), 5U);
  EXPECT_EQ(gone_of(*listed), all_gone);
  EXPECT_THAT(listed->finding, HasSubstr("4 of the settings are of Pods that are gone"));
  EXPECT_THAT(listed->finding, HasSubstr("Pod shop/p, container main, nvidia.com/gpu: waiting"));
  EXPECT_THAT(listed->finding, HasSubstr("annotation tranche.dev/limits of Node n3"));
  auto wanted = options(Verb::kList);
  EXPECT_THAT(show(*listed, wanted), HasSubstr("n2    shop       gone   main"));
  wanted.output = LimitOptions::Output::kJson;
  const auto shown = json::parse(show(*listed, wanted));
  EXPECT_EQ(shown[0]["node"], "n1");
  EXPECT_EQ(shown[0]["state"], "waiting");
  EXPECT_EQ(shown[4]["state"], "gone");
  EXPECT_TRUE(list_limits(objects_, "other")->limits.empty());

  const auto pruned = prune_limits(objects_);
  ASSERT_TRUE(pruned) << pruned.error().message();
  EXPECT_EQ(gone_of(*pruned), all_gone);
  EXPECT_THAT(pruned->finding, HasSubstr("Node n3"));
  EXPECT_THAT(show(*pruned, options(Verb::kPrune)), HasSubstr("taken away:\nNODE"));
  ASSERT_EQ(settings().size(), 1U);
  EXPECT_EQ(settings()[0].pod, "p");
  EXPECT_EQ(objects_.text(cluster::kNode, {.ns = "", .name = "n2"}).find("tranche.dev/limits"),
            std::string::npos);
  const auto again = prune_limits(objects_);
  EXPECT_TRUE(again->limits.empty());
  EXPECT_THAT(show(*again, options(Verb::kPrune)), HasSubstr("no setting is of a Pod"));
}

// Those of Pods that are gone make room; where all run it is said, and nothing is written.
TEST_F(LimitWorkTest, ANodesOrderIsBounded) {
  const json many = [] {
    json containers;
    for (std::size_t i = 0; i <= LimitSetting::kMost; ++i) {
      containers.push_back({{"name", fmt::format("c{}", i)},
                            {"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}});
    }
    return containers;
  }();
  uid_ = put_pod("p", "n1", many.dump());
  std::vector<LimitSetting> full;
  for (std::size_t i = 0; i < LimitSetting::kMost; ++i) {
    full.push_back({.ns = "shop",
                    .pod = "p",
                    .uid = uid_,
                    .container = fmt::format("c{}", i),
                    .resource = "nvidia.com/gpu",
                    .memory = "1Gi"});
  }
  const json node = {
      {"metadata",
       {{"name", "n1"},
        {"annotations", {{cluster::kLimitSettingsAnnotation, cluster::encode(full)}}}}}};
  objects_.put(cluster::kNode, node.dump());
  answer(holds);
  auto one_more = options(Verb::kSet, "8Gi");
  one_more.container = fmt::format("c{}", LimitSetting::kMost);
  EXPECT_EQ(run(one_more).error().code, Code::kFailedPrecondition);
  EXPECT_THAT(failure(one_more), HasSubstr("tranche.dev/limits of Node n1 is full"));
  EXPECT_EQ(settings(), full);
  auto changed = options(Verb::kSet, "8Gi");
  changed.container = "c0";
  const auto report = run(changed);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(settings().size(), LimitSetting::kMost);
}

TEST_F(LimitWorkTest, WhatIsSetOfAPodThatEndedCanBeReset) {
  answer(holds);
  ASSERT_TRUE(run(options(Verb::kSet, "8Gi")));
  put_pod("p", "n1", R"([{"name":"main"}])", "Failed");
  EXPECT_THAT(failure(options(Verb::kSet, "8Gi")), HasSubstr("does not run"));
  ASSERT_TRUE(run(options(Verb::kReset)));
  EXPECT_TRUE(settings().empty());
  objects_.erase(cluster::kPod, {.ns = "shop", .name = "p"});
  EXPECT_THAT(failure(options(Verb::kReset)), HasSubstr("tranche limit list"));
}

TEST_F(LimitWorkTest, WhatCannotBe) {
  auto nobody = options(Verb::kSet, "8Gi");
  nobody.pod = "nobody";
  EXPECT_EQ(run(nobody).error().code, Code::kNotFound);
  EXPECT_THAT(failure(options(Verb::kSet, "equal")), HasSubstr("write a quantity"));
  auto side = options(Verb::kSet, "8Gi");
  side.container = "side";
  EXPECT_THAT(failure(side), HasSubstr("no container with a resource that fits"));
  EXPECT_THAT(failure(side), HasSubstr("-c main --resource nvidia.com/gpu"));
  put_pod("p", "n1", R"([{"name":"a","resources":{"limits":{"nvidia.com/gpu":"1"}}},
                         {"name":"b","resources":{"limits":{"nvidia.com/gpu":"1"}}}])");
  EXPECT_THAT(failure(options(Verb::kSet, "8Gi")), HasSubstr("more than one"));
  put_pod("p", "", "[]");
  EXPECT_THAT(failure(options(Verb::kSet, "8Gi")), HasSubstr("does not run"));
  put_pod("p", "n1", R"([{"name":"a","resources":{"limits":{"nvidia.com/gpu":"1"}}}])");
  objects_.put(cluster::kNode,
               R"({"metadata":{"name":"n1","annotations":{"tranche.dev/limits":"{"}}})");
  EXPECT_THAT(failure(options(Verb::kSet, "8Gi")),
              HasSubstr("kubectl annotate node n1 tranche.dev/limits-"));
}

}  // namespace
}  // namespace tranche::cli
