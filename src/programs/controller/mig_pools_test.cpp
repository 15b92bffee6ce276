#include "controller/mig_pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/envelope.h"
#include "cluster/formats/mig_change.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::controller::mig_pools_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr const char* kRolling =
    "pools:\n- {name: a100, nodeSelector: {pool: a100}, layout: new}\n";
constexpr const char* kRollingBack =
    "pools:\n- {name: a100, nodeSelector: {pool: a100}, layout: new, onFailure: rollBack}\n";

class MigPoolsTest : public testing::Test {
 protected:
  MigPoolsTest() {
    objects_.put(cluster::kConfigMap,
                 R"({"metadata":{"namespace":"tranche","name":"pools-status"}})");
  }

  void start() {
    pools_.emplace(
        WorkerContext{.objects = objects_,
                      .clock = clock_,
                      .log = log_.log(),
                      .watches = watches_,
                      .instance = "c-1",
                      .backoff = {.first = milliseconds(1), .longest = milliseconds(4)}},
        MigPools::Options{
            .ns = "tranche", .name = "pools", .look = milliseconds(1), .rest = milliseconds(1)});
  }
  void put_pools(const std::string& text) {
    const json map = {{"metadata", {{"namespace", "tranche"}, {"name", "pools"}}},
                      {"data", {{MigPools::kKey, text}}}};
    objects_.put(cluster::kConfigMap, map.dump());
  }
  void put_node(const std::string& name, const std::string& label = "") {
    json node = {{"metadata", {{"name", name}, {"labels", {{"pool", "a100"}}}}},
                 {"status", {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
    if (!label.empty()) node["metadata"]["labels"][cluster::kMigConfigLabel] = label;
    objects_.put(cluster::kNode, node.dump());
  }
  void agent_says(const std::string& name, const std::string& state) {
    const json outcome = {{"label", label(name)}, {"trouble", state == "failed" ? "why" : ""}};
    const auto applied = seal({.version = "mig-applied/v1", .key = "outcome"}, outcome.dump());
    const json patch = {{"metadata",
                         {{"labels", {{cluster::kMigStateLabel, state}}},
                          {"annotations", {{cluster::kMigAppliedAnnotation, applied}}}}}};
    ASSERT_TRUE(objects_.patch(cluster::kNode, {.name = name},
                               {.json = patch.dump(), .field_manager = "agent"}));
  }
  std::string label(const std::string& name, const char* key = cluster::kMigConfigLabel) {
    return json::parse(objects_.text(cluster::kNode, {.name = name}))["metadata"]["labels"].value(
        key, "");
  }
  bool has(const std::string& name, const std::string& wanted) {
    return test::eventually([&] { return label(name) == wanted; });
  }
  std::string status() {
    const auto map =
        json::parse(objects_.text(cluster::kConfigMap, {.ns = "tranche", .name = "pools-status"}));
    return map.value("/data/a100"_json_pointer, "");
  }
  bool says(const std::string& part) {
    return test::eventually([&] { return status().find(part) != std::string::npos; });
  }
  std::size_t events(const std::string& reason) {
    const auto list = objects_.list(cluster::kEvent, {.ns = "tranche"});
    return static_cast<std::size_t>(std::ranges::count_if(
        list->items, [&](const auto& item) { return json::parse(item.json)["reason"] == reason; }));
  }
  // Waits for two more reads of the Nodes.
  void let_it_look() {
    const auto lists = [&] {
      const auto all = objects_.calls();
      return std::ranges::count_if(all, [](const auto& one) { return one == "list nodes"; });
    };
    const auto before = lists();
    ASSERT_TRUE(test::eventually([&] { return lists() >= before + 2; }));
  }

  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  SharedWatches watches_{
      objects_, log_.log(), {.first = milliseconds(1), .longest = milliseconds(4)}};
  std::optional<MigPools> pools_;
};

TEST_F(MigPoolsTest, GivesTheLayoutToOneNodeAfterTheOther) {
  put_pools(kRolling);
  put_node("gpu-1");
  put_node("gpu-2");
  start();
  ASSERT_TRUE(has("gpu-1", "new"));
  EXPECT_EQ(label("gpu-1", cluster::kMigStateLabel), "pending");
  ASSERT_TRUE(says("0 of 2 nodes have new; now gpu-1"));
  let_it_look();
  EXPECT_EQ(label("gpu-2"), "");
  agent_says("gpu-1", "success");
  ASSERT_TRUE(has("gpu-2", "new"));
  ASSERT_TRUE(says("1 of 2 nodes have new; now gpu-2"));
  agent_says("gpu-2", "success");
  ASSERT_TRUE(says("done: 2 of 2"));
  EXPECT_TRUE(test::eventually([&] { return events("MigPoolDone") == 1; }));
}

TEST_F(MigPoolsTest, StopsAtAFailure) {
  put_pools(kRolling);
  put_node("gpu-1");
  put_node("gpu-2");
  start();
  ASSERT_TRUE(has("gpu-1", "new"));
  agent_says("gpu-1", "failed");
  ASSERT_TRUE(says("stopped: 0 of 2 nodes have new; failed: gpu-1"));
  let_it_look();
  EXPECT_EQ(label("gpu-2"), "");
  EXPECT_EQ(events("MigPoolStopped"), 1U);
  // Repaired by hand, the rollout continues.
  agent_says("gpu-1", "success");
  EXPECT_TRUE(has("gpu-2", "new"));
}

TEST_F(MigPoolsTest, RollsBackToWhatEachNodeHad) {
  put_pools("pools:\n- {name: a100, nodeSelector: {pool: a100}, layout: old}\n");
  put_node("gpu-1");
  start();
  ASSERT_TRUE(has("gpu-1", "old"));
  agent_says("gpu-1", "success");
  ASSERT_TRUE(says("done"));
  put_pools(kRollingBack);
  ASSERT_TRUE(has("gpu-1", "new"));
  put_node("gpu-2");
  agent_says("gpu-1", "success");
  ASSERT_TRUE(has("gpu-2", "new"));
  agent_says("gpu-2", "failed");
  ASSERT_TRUE(has("gpu-1", "old"));
  agent_says("gpu-1", "success");
  ASSERT_TRUE(has("gpu-2", ""));
  ASSERT_TRUE(says("rolled back"));
  EXPECT_TRUE(test::eventually([&] { return events("MigPoolRolledBack") == 1; }));
}

TEST_F(MigPoolsTest, WhatSomebodyElseSetIsNotOverwritten) {
  put_pools(kRolling);
  put_node("gpu-1", "theirs");
  put_node("gpu-2");
  start();
  ASSERT_TRUE(has("gpu-2", "new"));
  ASSERT_TRUE(says("left alone: gpu-1"));
  EXPECT_EQ(label("gpu-1"), "theirs");
}

// For example, because somebody's annotation conflicts with the pool's.
TEST_F(MigPoolsTest, AFailedWriteDelaysNoOtherPool) {
  put_pools(
      "pools:\n- {name: a100, nodeSelector: {pool: a100}, layout: new, acceptOutage: true}\n"
      "- {name: h100, nodeSelector: {pool: h100}, layout: small}\n");
  put_node("gpu-1");
  put_node("gpu-2");
  const json patch = {
      {"metadata", {{"annotations", {{cluster::kMigAcceptOutageAnnotation, "old"}}}}}};
  ASSERT_TRUE(objects_.patch(cluster::kNode, {.name = "gpu-1"},
                             {.json = patch.dump(), .field_manager = "kubectl-annotate"}));
  const json other = {{"metadata", {{"labels", {{"pool", "h100"}}}}}};
  ASSERT_TRUE(objects_.patch(cluster::kNode, {.name = "gpu-2"}, {.json = other.dump()}));
  start();
  EXPECT_TRUE(has("gpu-2", "small"));
  EXPECT_TRUE(says("left alone: gpu-1"));
  EXPECT_EQ(label("gpu-1"), "");
}

TEST_F(MigPoolsTest, AnotherControllerContinuesAndReportsNothingTwice) {
  put_pools(kRolling);
  put_node("gpu-1");
  put_node("gpu-2");
  start();
  ASSERT_TRUE(has("gpu-1", "new"));
  pools_.reset();
  agent_says("gpu-1", "success");
  start();
  ASSERT_TRUE(has("gpu-2", "new"));
  agent_says("gpu-2", "success");
  ASSERT_TRUE(test::eventually([&] { return events("MigPoolDone") == 1; }));
  pools_.reset();
  start();
  let_it_look();
  EXPECT_EQ(events("MigPoolDone"), 1U);
}

TEST_F(MigPoolsTest, InvalidPoolsChangeNothingAndAreReportedOnce) {
  put_pools("pools: [{}]");
  put_node("gpu-1");
  start();
  ASSERT_TRUE(test::eventually([&] { return events("MigPoolsRefused") == 1; }));
  EXPECT_EQ(log_.count("no pool is changed"), 1);
  EXPECT_EQ(label("gpu-1"), "");
  put_pools(kRolling);
  EXPECT_TRUE(has("gpu-1", "new"));
}

TEST_F(MigPoolsTest, AMissingConfigMapIsWaitedFor) {
  put_node("gpu-1");
  start();
  ASSERT_TRUE(test::eventually([&] { return log_.count("is not there: no pool") == 1; }));
  put_pools(kRolling);
  EXPECT_TRUE(has("gpu-1", "new"));
}

TEST_F(MigPoolsTest, ANodeIsInTheFirstPoolThatSelectsIt) {
  put_pools(std::string(kRolling) + "- {name: all, nodeSelector: {pool: a100}, layout: other}\n");
  put_node("gpu-1");
  start();
  ASSERT_TRUE(has("gpu-1", "new"));
  let_it_look();
  EXPECT_EQ(label("gpu-1"), "new");
}

TEST_F(MigPoolsTest, EveryCallMayFail) {
  const struct {
    const char* verb;
    cluster::Kind kind;
    Code code;
  } faults[] = {{"get", cluster::kConfigMap, Code::kUnavailable},
                {"patch", cluster::kConfigMap, Code::kUnavailable},
                {"list", cluster::kNode, Code::kTimeout},
                {"patch", cluster::kNode, Code::kFailedPrecondition},
                {"apply", cluster::kNode, Code::kFailedPrecondition},
                {"apply", cluster::kNode, Code::kTimeout},
                {"create", cluster::kEvent, Code::kUnavailable}};
  put_pools(kRolling);
  for (const auto& fault : faults) {
    put_node("gpu-1");
    objects_.refuse(fault.verb, fault.kind, {fault.code, "injected", ""}, 3);
    start();
    EXPECT_TRUE(has("gpu-1", "new")) << fault.verb;
    pools_.reset();
    objects_.recover();
    objects_.erase(cluster::kNode, {.name = "gpu-1"});
  }
}

}  // namespace
}  // namespace tranche::controller::mig_pools_test
