#include "cli/limit/overview.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/limit/show.h"
#include "cli/limit/testing.h"

namespace tranche::cli::limit_overview_test {
namespace {

using cluster::LimitSetting;
using nlohmann::json;
using testing::HasSubstr;
using Verb = config::LimitOptions::Verb;
using LimitOverviewTest = LimitTest;

TEST_F(LimitOverviewTest, SettingsOfPodsThatAreGoneLeave) {
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

TEST_F(LimitOverviewTest, ListShowsAllAndPruneTakesAwayWhatIsGone) {
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
  wanted.output = config::LimitOptions::Output::kJson;
  const auto shown = json::parse(show(*listed, wanted));
  EXPECT_EQ(shown["limits"][0]["node"], "n1");
  EXPECT_EQ(shown["limits"][0]["state"], "waiting");
  EXPECT_EQ(shown["limits"][4]["state"], "gone");
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

// Settings of deleted Pods make room. If all Pods run, the command fails and writes nothing.
TEST_F(LimitOverviewTest, ANodesOrderIsBounded) {
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

TEST_F(LimitOverviewTest, WhatIsSetOfAPodThatEndedCanBeReset) {
  answer(holds);
  ASSERT_TRUE(run(options(Verb::kSet, "8Gi")));
  put_pod("p", "n1", R"([{"name":"main"}])", "Failed");
  EXPECT_THAT(failure(options(Verb::kSet, "8Gi")), HasSubstr("does not run"));
  ASSERT_TRUE(run(options(Verb::kReset)));
  EXPECT_TRUE(settings().empty());
  objects_.erase(cluster::kPod, {.ns = "shop", .name = "p"});
  EXPECT_THAT(failure(options(Verb::kReset)), HasSubstr("tranche limit list"));
}

}  // namespace
}  // namespace tranche::cli::limit_overview_test
