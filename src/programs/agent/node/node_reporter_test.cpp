#include "agent/node/node_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::agent::node_reporter_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

class NodeReporterTest : public testing::Test {
 protected:
  NodeReporterTest() {
    objects_.put(cluster::kNode, R"({"metadata":{"name":"n1"},"status":{"conditions":[
        {"type":"Ready","status":"True","reason":"KubeletReady","message":"fine"}]}})");
    node_.emplace(objects_, "n1", notifier_, log_.log(), Backoff{milliseconds(1), milliseconds(4)});
    open({milliseconds(1), milliseconds(4)});
  }
  void open(Backoff backoff) { reporter_.emplace(objects_, *node_, clock_, log_.log(), backoff); }
  std::optional<json> condition(const std::string& type) {
    const auto node = json::parse(objects_.text(cluster::kNode, {.ns = "", .name = "n1"}));
    for (const auto& entry : node["status"]["conditions"]) {
      if (entry["type"] == type) return entry;
    }
    return std::nullopt;
  }
  bool says(const std::string& status, const std::string& message) {
    return test::eventually([&] {
      const auto found = condition(kConfiguredCondition);
      return found && (*found)["status"] == status && (*found)["message"] == message;
    });
  }
  std::vector<json> events() {
    std::vector<json> all;
    const auto list = objects_.list(cluster::kEvent, {.ns = "default"});
    for (const auto& item : list->items) all.push_back(json::parse(item.json));
    return all;
  }
  std::ptrdiff_t calls(const std::string& beginning) { return objects_.count_calls(beginning); }

  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  process::ChangeNotifier notifier_;
  std::optional<NodeView> node_;
  std::optional<NodeReporter> reporter_;
};

TEST_F(NodeReporterTest, AConditionWithoutAnEventIsWrittenAlone) {
  reporter_->report({.type = kDevicesFreeCondition,
                     .good = false,
                     .reason = "DevicesHeld",
                     .message = "by a",
                     .action = "Advertise",
                     .as_event = false});
  EXPECT_TRUE(test::eventually([&] { return condition(kDevicesFreeCondition).has_value(); }));
  reporter_->tell({.reason = "Told", .action = "x", .note = "after it"});
  ASSERT_TRUE(test::eventually([&] { return !events().empty(); }));
  EXPECT_EQ(events().size(), 1U);
}

TEST_F(NodeReporterTest, AMessageIsNotCutWithinACharacter) {
  const auto long_one = std::string(1023, 'a') + "\u00e4 and more";
  reporter_->report(configured_condition({.applied = false, .message = long_one}));
  EXPECT_TRUE(says("False", std::string(1023, 'a')));
}

TEST_F(NodeReporterTest, AConditionOfWhichNobodySaysAnythingAnyMoreIsRemoved) {
  reporter_->report(configured_condition({.applied = true, .message = "fine"}));
  ASSERT_TRUE(says("True", "fine"));
  reporter_->withdraw(kConfiguredCondition);
  EXPECT_TRUE(test::eventually([&] { return !condition(kConfiguredCondition); }));
  EXPECT_TRUE(condition("Ready"));
  reporter_->withdraw("TrancheNeverThere");
  reporter_->tell({.reason = "Told", .action = "x", .note = "after it"});
  ASSERT_TRUE(test::eventually([&] { return events().size() == 2; }));
  EXPECT_EQ(calls("patch"), 2);
}

TEST_F(NodeReporterTest, ADiskThatTakesNoGrantsIsToldUntilItDoes) {
  const auto is = [&](const std::string& status) {
    return test::eventually([&] {
      const auto found = condition(kGrantsStoredCondition);
      return found && (*found)["status"] == status;
    });
  };
  reporter_->report(stored_condition({}));
  reporter_->report(
      stored_condition(fail(Code::kIo, "write grants.jsonl: No space left on device")));
  ASSERT_TRUE(is("False"));
  EXPECT_EQ(
      (*condition(kGrantsStoredCondition))["message"],
      "write grants.jsonl: No space left on device; limited containers are refused meanwhile");
  EXPECT_TRUE(test::eventually([&] {
    reporter_->report(stored_condition({}));
    const auto found = condition(kGrantsStoredCondition);
    return found && (*found)["status"] == "True";
  }));
  EXPECT_TRUE(test::eventually([&] { return events().size() == 2; }));
}

TEST_F(NodeReporterTest, WhereGrantsWereAlwaysStoredNothingIsTold) {
  reporter_->report(stored_condition({}));
  reporter_->report(configured_condition({.applied = true, .message = "key l20"}));
  ASSERT_TRUE(says("True", "key l20"));
  EXPECT_FALSE(condition(kGrantsStoredCondition).has_value());
}

TEST_F(NodeReporterTest, ConditionAndEventTellARefusalAndItsEnd) {
  reporter_->report(configured_condition({.applied = true, .message = "key l20"}));
  ASSERT_TRUE(says("True", "key l20"));
  const auto applied = *condition(kConfiguredCondition);
  EXPECT_EQ(applied["reason"], "ConfigApplied");
  EXPECT_EQ(applied["lastTransitionTime"], "2026-01-01T00:00:00Z");
  EXPECT_TRUE(condition("Ready").has_value()) << "others' conditions stay";

  clock_.advance(std::chrono::seconds(5));
  reporter_->report(configured_condition({.applied = false, .message = "no key x"}));
  ASSERT_TRUE(says("False", "no key x"));
  EXPECT_EQ((*condition(kConfiguredCondition))["lastTransitionTime"], "2026-01-01T00:00:05Z");
  ASSERT_TRUE(test::eventually([&] { return events().size() == 2; }));
  const auto all = events();
  const auto warning =
      std::ranges::find_if(all, [](const auto& event) { return event["type"] == "Warning"; });
  ASSERT_NE(warning, all.end());
  EXPECT_EQ((*warning)["reason"], "ConfigRefused");
  EXPECT_EQ((*warning)["note"], "no key x");
  EXPECT_EQ((*warning)["regarding"]["kind"], "Node");
  EXPECT_EQ((*warning)["regarding"]["name"], "n1");
}

TEST_F(NodeReporterTest, ANoticeIsAnEventOfTheNodeAndNoCondition) {
  reporter_->tell({.warning = true,
                   .reason = "ResourceWithheld",
                   .action = "Advertise",
                   .note = "not advertising nvidia.com/gpu: no library"});
  ASSERT_TRUE(test::eventually([&] { return events().size() == 1; }));
  const auto event = events().front();
  EXPECT_EQ(event["type"], "Warning");
  EXPECT_EQ(event["reason"], "ResourceWithheld");
  EXPECT_EQ(event["action"], "Advertise");
  EXPECT_EQ(event["note"], "not advertising nvidia.com/gpu: no library");
  EXPECT_EQ(event["regarding"]["name"], "n1");
  EXPECT_FALSE(condition(kConfiguredCondition).has_value());
}

TEST_F(NodeReporterTest, ANewMessageIsNoTransition) {
  reporter_->report(configured_condition({.applied = true, .message = "key l20"}));
  ASSERT_TRUE(says("True", "key l20"));
  clock_.advance(std::chrono::seconds(5));
  reporter_->report(configured_condition({.applied = true, .message = "key t4"}));
  ASSERT_TRUE(says("True", "key t4"));
  const auto entry = *condition(kConfiguredCondition);
  EXPECT_EQ(entry["lastTransitionTime"], "2026-01-01T00:00:00Z");
  EXPECT_EQ(entry["lastHeartbeatTime"], "2026-01-01T00:00:05Z");
}

TEST_F(NodeReporterTest, WhatTheNodeSaysAlreadyIsNotSaidAgain) {
  reporter_->report(configured_condition({.applied = true, .message = "key l20"}));
  ASSERT_TRUE(test::eventually([&] {
    const auto node = node_->node();
    return node && node->conditions.size() == 2 && events().size() == 1;
  }));
  const auto patches = calls("patch nodes");
  reporter_->report(configured_condition({.applied = true, .message = "key l20"}));
  // A recreated Node has no condition, so it is written again.
  objects_.erase(cluster::kNode, {.ns = "", .name = "n1"});
  objects_.put(cluster::kNode, R"({"metadata":{"name":"n1"},"status":{"conditions":[]}})");
  ASSERT_TRUE(test::eventually([&] {
    reporter_->report(configured_condition({.applied = true, .message = "key l20"}));
    return condition(kConfiguredCondition).has_value();
  }));
  EXPECT_EQ(calls("patch nodes"), patches + 1);
}

TEST_F(NodeReporterTest, TriesUntilItIsAllowed) {
  objects_.refuse("patch", cluster::kNode,
                  {Code::kPermission, "patch nodes n1: forbidden", "grant patch on nodes/status"});
  reporter_->report(configured_condition({.applied = true, .message = "key l20"}));
  ASSERT_TRUE(test::eventually([&] { return log_.count("grant patch on nodes/status") > 0; }));
  objects_.recover();
  EXPECT_TRUE(says("True", "key l20"));
  EXPECT_EQ(log_.count("grant patch on nodes/status"), 1);
}

TEST_F(NodeReporterTest, AskedAgainWithTheSameReportItGoesOnWaiting) {
  ASSERT_TRUE(test::eventually([&] { return node_->node().has_value(); }));
  open({std::chrono::hours(1), std::chrono::hours(1)});
  objects_.refuse("patch", cluster::kNode, {Code::kPermission, "nodes/status: forbidden"});
  reporter_->report(configured_condition({.applied = true, .message = "key l20"}));
  ASSERT_TRUE(test::eventually([&] { return log_.count("nodes/status: forbidden") == 1; }));
  for (int i = 0; i < 10; ++i)
    reporter_->report(configured_condition({.applied = true, .message = "key l20"}));
  objects_.recover();
  reporter_->report(configured_condition({.applied = true, .message = "key t4"}));
  EXPECT_TRUE(says("True", "key t4")) << "another report is written at once";
  EXPECT_EQ(calls("patch nodes"), 2);
}

TEST_F(NodeReporterTest, WithoutTheRightToRecordEventsTheConditionIsWritten) {
  objects_.refuse("create", cluster::kEvent, {Code::kPermission, "events: forbidden"});
  reporter_->report(configured_condition({.applied = true, .message = "key l20"}));
  EXPECT_TRUE(says("True", "key l20"));
  EXPECT_TRUE(test::eventually([&] { return log_.count("no Event is recorded") == 1; }));
}

}  // namespace
}  // namespace tranche::agent::node_reporter_test
