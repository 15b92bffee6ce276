#include "cli/limit/work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/limit/show.h"
#include "cli/limit/testing.h"

namespace tranche::cli::limit_work_test {
namespace {

using cluster::LimitOutcome;
using cluster::LimitSetting;
using config::LimitOptions;
using nlohmann::json;
using testing::HasSubstr;
using Verb = LimitOptions::Verb;
using LimitWorkTest = LimitTest;

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

TEST_F(LimitWorkTest, AClaimIsNamedAsThePodCallsIt) {
  answer(holds);
  uid_ = put_pod("p", "n1", R"([{"name":"main","resources":{"claims":[{"name":"half"}]}}])");
  ASSERT_TRUE(run(options(Verb::kSet, "8Gi")));
  ASSERT_EQ(settings().size(), 1U);
  EXPECT_EQ(settings()[0].resource, "claim/half");
  put_pod("p", "n1", R"([{"name":"main","resources":{
      "claims":[{"name":"half"},{"name":"two","request":"b"}]}}])");
  EXPECT_THAT(failure(options(Verb::kSet, "8Gi")),
              HasSubstr("-c main --resource claim/half; -c main --resource claim/two/b"));
  auto second = options(Verb::kSet, "1Gi");
  second.resource = "claim/two/b";
  ASSERT_TRUE(run(second));
  EXPECT_EQ(settings().size(), 2U);
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
  std::set<std::string> seen;  // every order that the agent saw, by its memory values
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
  seen.erase("2Gi ");  // the agent may have read it in between or not
  EXPECT_THAT(seen, testing::ElementsAre("1Gi ", "2Gi 1Gi ", "80Gi 2Gi "));
}

// A killed command left a refused setting. The next command does not build on it.
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
  EXPECT_EQ(shown["version"], "limit-list/v1");
  EXPECT_EQ(shown["limits"][0]["node"], "n1");
  EXPECT_EQ(shown["limits"][0]["state"], "holds");
  EXPECT_EQ(shown["limits"][0]["devices"][0]["permille"], 300);
  wanted.output = LimitOptions::Output::kYaml;
  EXPECT_THAT(show(*report, wanted), testing::StartsWith("version: \"limit-list/v1\"\nlimits:\n"
                                                         "- node: \"n1\"\n"
                                                         "  namespace: \"shop\"\n"));
  EXPECT_THAT(show(*report, wanted), HasSubstr("    permille: 300\n"));
  wanted.container = "side";
  EXPECT_TRUE(run(wanted)->outcomes.empty());
}

// A Pod's owner asks by annotations: `get` shows them, what they replace, and what else holds.
TEST_F(LimitWorkTest, GetShowsWhatIsPromisedAskedAndInForceAndByWhom) {
  const LimitSetting asked{.ns = "shop",
                           .pod = "p",
                           .uid = uid_,
                           .container = "main",
                           .resource = "nvidia.com/gpu",
                           .memory = "1Gi"};
  auto outcome = holds(asked);
  outcome.by = LimitOutcome::By::kAnnotations;
  const json node = {
      {"metadata",
       {{"name", "n1"},
        {"annotations",
         {{cluster::kLimitStatusAnnotation, cluster::encode(std::vector{outcome})}}}}}};
  objects_.put(cluster::kNode, node.dump());
  const auto holding = [&](const char* container, const char* uid) {
    return cluster::GpuNodeHolding{.device = "GPU-a",
                                   .part = cluster::GpuNodePart{.memory = Bytes{16ULL << 30U},
                                                                .permille = 500,
                                                                .enforcer = "kernel"},
                                   .wire = "device-plugin",
                                   .resource = "nvidia.com/gpu",
                                   .ns = "shop",
                                   .pod = "p",
                                   .pod_uid = uid,
                                   .container = container};
  };
  const auto put = [&](std::vector<cluster::GpuNodeHolding> holdings) {
    objects_.put(
        cluster::kGpuNode,
        cluster::to_json(cluster::GpuNode{
            .name = "n1", .status = cluster::GpuNodeStatus{.holdings = std::move(holdings)}}));
  };
  put({holding("main", uid_.c_str()), holding("main", uid_.c_str()), holding("side", ""),
       holding("side", "of a Pod of this name before")});

  auto wanted = options(Verb::kGet);
  const auto report = run(wanted);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->finding, "");
  const auto table = show(*report, wanted);
  EXPECT_THAT(table, testing::ContainsRegex(
                         "main +nvidia.com/gpu +1Gi +- +- +holds +GPU-a: memory 8192 MiB, compute "
                         "30% +annotations +GPU-a: memory 16384 MiB, compute 50% \\(kernel\\)\n"));
  EXPECT_THAT(table, testing::ContainsRegex("side +nvidia.com/gpu +- +- +- +holds +as promised +"
                                            "configuration +GPU-a: memory 16384 MiB"));
  wanted.output = LimitOptions::Output::kJson;
  const auto shown = json::parse(show(*report, wanted));
  EXPECT_EQ(shown["limits"][0]["by"], "annotations");
  EXPECT_EQ(shown["promised"].size(), 2U);
  EXPECT_EQ(shown["promised"][1]["container"], "side");
  EXPECT_EQ(shown["promised"][1]["memoryBytes"], 16ULL << 30U);
  EXPECT_EQ(shown["promised"][1]["enforcer"], "kernel");
}

TEST_F(LimitWorkTest, GetSaysWhyAPromiseIsNotKnown) {
  const auto wanted = options(Verb::kGet);
  const auto report = run(wanted);
  ASSERT_TRUE(report);
  EXPECT_THAT(show(*report, wanted), HasSubstr("promises, which is not known ("));
}

TEST_F(LimitWorkTest, WhatCannotBe) {
  auto nobody = options(Verb::kSet, "8Gi");
  nobody.pod = "nobody";
  EXPECT_EQ(run(nobody).error().code, Code::kNotFound);
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
}  // namespace tranche::cli::limit_work_test
