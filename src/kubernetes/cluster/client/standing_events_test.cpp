#include "cluster/client/standing_events.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cluster/time.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"

namespace tranche::cluster::standing_events_test {
namespace {

using nlohmann::json;
using std::chrono::minutes;
using std::chrono::seconds;

class StandingEventsTest : public testing::Test {
 protected:
  StandingEventsTest() : began_(clock_.wall_now()) { restart(); }

  void restart() { events_.emplace(objects_, "tranche.dev/agent", "n1", clock_, log_.log()); }
  StandingEvent event(const std::string& note, std::set<std::string> instances) const {
    return {
        .event = {.regarding =
                      {.api_version = "v1", .kind = "Pod", .ns = "shop", .name = "p", .uid = "u"},
                  .warning = true,
                  .reason = "PastTheLimiter",
                  .action = "Limit",
                  .note = note,
                  .reporter = {},
                  .instance = {},
                  .time = began_},
        .instances = std::move(instances)};
  }
  void tell(std::set<std::string> instances) {
    events_->tell({{"p", event("why", std::move(instances))}}, {});
  }
  std::vector<json> events() {
    std::vector<json> all;
    const auto list = objects_.list(kEvent, {.ns = "shop"});
    for (const auto& item : list->items) all.push_back(json::parse(item.json));
    return all;
  }
  int count() {
    const auto all = events();
    return all.size() == 1 && all[0].contains("series") ? all[0]["series"]["count"].get<int>() : 1;
  }

  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  WallTime began_;
  std::optional<StandingEvents> events_;
};

TEST_F(StandingEventsTest, SeenAgainItIsNotSaidAgain) {
  tell({"42"});
  clock_.advance(minutes(29));
  tell({"42"});
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0]["note"], "why");
  EXPECT_EQ(events()[0]["reportingInstance"], "n1");
  EXPECT_EQ(events()[0]["eventTime"], "2026-01-01T00:00:00.000000Z");
  EXPECT_FALSE(events()[0].contains("series"));
}

TEST_F(StandingEventsTest, AnotherInstanceIsCountedAtMostOnceAMinute) {
  tell({"42"});
  tell({"42", "43"});
  EXPECT_EQ(count(), 1);
  clock_.advance(seconds(30));
  tell({"44"});
  EXPECT_EQ(count(), 1);
  clock_.advance(seconds(30));
  tell({"44"});
  EXPECT_EQ(events().size(), 1U);
  EXPECT_EQ(count(), 3);
  EXPECT_EQ(events()[0]["series"]["lastObservedTime"], "2026-01-01T00:01:00.000000Z");
}

TEST_F(StandingEventsTest, SeveralAtOnceAreCountedFromTheBeginning) {
  tell({"42", "43", "44"});
  EXPECT_EQ(count(), 3);
}

TEST_F(StandingEventsTest, WhatGoesOnIsSaidAgainBeforeItIsForgotten) {
  tell({"42"});
  clock_.advance(minutes(30));
  tell({"42"});
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0]["series"]["lastObservedTime"], "2026-01-01T00:30:00.000000Z");
}

TEST_F(StandingEventsTest, OneThatTheApiServerForgotIsMadeAnew) {
  tell({"42"});
  objects_.erase(kEvent, {.ns = "shop", .name = events()[0]["metadata"]["name"]});
  clock_.advance(minutes(30));
  tell({"42"});
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0]["eventTime"], "2026-01-01T00:30:00.000000Z");
}

TEST_F(StandingEventsTest, BackSoonItCountsOnBackLaterItIsAnother) {
  tell({"42"});
  events_->tell({}, {});
  clock_.advance(minutes(9));
  tell({"50"});
  EXPECT_EQ(count(), 2);
  clock_.advance(minutes(10));
  events_->tell({}, {});
  began_ = clock_.wall_now();
  tell({"60"});
  EXPECT_EQ(events().size(), 2U);
}

TEST_F(StandingEventsTest, ARestartedReporterMakesNoSecondOne) {
  tell({"42"});
  restart();
  tell({"42"});
  EXPECT_EQ(events().size(), 1U);
  EXPECT_TRUE(log_.lines().empty());
}

TEST_F(StandingEventsTest, ARefusalIsLoggedOnceAndTriedAgainLater) {
  objects_.refuse("create", kEvent, {Code::kPermission, "events: forbidden", "grant create"}, 2);
  tell({"42"});
  tell({"42"});
  clock_.advance(StandingEvents::kPause);
  tell({"42"});
  EXPECT_EQ(log_.count("an Event is not recorded: events: forbidden"), 1);
  EXPECT_TRUE(events().empty());
  clock_.advance(StandingEvents::kPause);
  tell({"42"});
  EXPECT_EQ(events().size(), 1U);
}

TEST_F(StandingEventsTest, MoreThanItHoldsAreNotTold) {
  StandingEvents::Events many;
  for (std::size_t i = 0; i < StandingEvents::kMost + 5; ++i) {
    many.emplace(fmt::format("{:03}", i), event(fmt::format("note {}", i), {"1"}));
  }
  events_->tell(many, {});
  events_->tell(many, {});
  EXPECT_EQ(events().size(), StandingEvents::kMost);
  EXPECT_EQ(log_.count("more than 64 events"), 1);
}

}  // namespace
}  // namespace tranche::cluster::standing_events_test
