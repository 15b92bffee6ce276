#include "cluster/client/event_recorder.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"

namespace tranche::cluster::event_recorder_test {
namespace {

using nlohmann::json;

class EventRecorderTest : public testing::Test {
 protected:
  void record(const std::string& reason) {
    recorder_.record({.regarding = {.api_version = "v1", .kind = "Node", .name = "n1", .uid = "n1"},
                      .warning = true,
                      .reason = reason,
                      .action = "Configure",
                      .note = "why"},
                     {});
  }
  std::vector<json> events() {
    std::vector<json> all;
    const auto list = objects_.list(kEvent, {.ns = "default"});
    for (const auto& item : list->items) all.push_back(json::parse(item.json));
    return all;
  }

  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  EventRecorder recorder_{
      objects_, {.reporter = "tranche.dev/agent", .instance = "i"}, clock_, log_.log()};
};

TEST_F(EventRecorderTest, FillsInWhoAndWhen) {
  record("ConfigRefused");
  const auto all = events();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["reportingController"], "tranche.dev/agent");
  EXPECT_EQ(all[0]["reportingInstance"], "i");
  EXPECT_EQ(all[0]["eventTime"], "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(all[0]["reason"], "ConfigRefused");
  EXPECT_EQ(all[0]["regarding"]["name"], "n1");
  EXPECT_EQ(all[0]["type"], "Warning");
}

TEST_F(EventRecorderTest, WhatIsThereAlreadyIsNoFailure) {
  record("ConfigRefused");
  record("ConfigRefused");  // the same time: the same name
  EXPECT_EQ(events().size(), 1U);
  EXPECT_TRUE(log_.lines().empty());
}

TEST_F(EventRecorderTest, ARefusalIsLoggedOnceAndLaterEventsAreRecorded) {
  objects_.refuse("create", kEvent, {Code::kPermission, "events: forbidden", "grant create"}, 2);
  record("A");
  record("B");
  EXPECT_EQ(log_.count("no Event is recorded: events: forbidden"), 1);
  record("C");
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0]["reason"], "C");
}

}  // namespace
}  // namespace tranche::cluster::event_recorder_test
