#include "controller/web/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_clock.h"
#include "support/wait.h"
#include "usage/node_usage_json.h"

namespace tranche::controller::collector_test {
namespace {

using fleet::Reporting;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::eventually;
using testing::HasSubstr;

class CollectorTest : public testing::Test {
 protected:
  // Waits until another round has ended.
  void look() { collector_->want(seconds(60)); }
  void open() {
    collector_ = std::make_unique<Collector>(
        Collector::Ports{.agents = [this] { return places(); },
                         .ask = [this](const AgentPlace& place, milliseconds,
                                       const std::stop_token&) { return answer(place); }},
        clock_, Collector::Options{.every = milliseconds(1), .most_bytes = most_bytes_});
  }
  std::vector<AgentPlace> places() {
    const std::scoped_lock lock(mutex_);
    return places_;
  }
  Result<std::string> answer(const AgentPlace& place) {
    const std::scoped_lock lock(mutex_);
    ++asked_[place.node];
    const auto found = answers_.find(place.node);
    if (found == answers_.end()) return fail(Code::kTimeout, "no answer in time");
    return found->second;
  }
  void says(const std::string& node, const std::string& text) {
    const std::scoped_lock lock(mutex_);
    answers_[node] = text;
  }
  static std::string usage(const std::string& node) { return usage::to_json({.node = node}); }
  // Of a node with that many containers.
  static std::string much_usage(const std::string& node, std::size_t count) {
    usage::NodeUsage much{.node = node};
    much.containers.resize(count);
    return usage::to_json(much);
  }
  fleet::Report report(const std::string& node) {
    const auto all = collector_->reports();
    const auto found = all.find(node);
    return found == all.end() ? fleet::Report{} : found->second;
  }
  int asked(const std::string& node) {
    const std::scoped_lock lock(mutex_);
    return asked_[node];
  }

  std::size_t most_bytes_ = Collector::kMostBytes;
  std::mutex mutex_;
  std::vector<AgentPlace> places_ = {{"a", "10.0.0.1"}, {"b", "10.0.0.2"}};
  std::map<std::string, std::string> answers_;
  std::map<std::string, int> asked_;
  test::FakeClock clock_;
  std::unique_ptr<Collector> collector_;
};

TEST_F(CollectorTest, NobodyIsAskedUntilSomebodyLooks) {
  says("a", usage("a"));
  open();
  EXPECT_FALSE(collector_->is_wanted());
  EXPECT_TRUE(collector_->reports().empty());
  look();
  EXPECT_TRUE(collector_->is_wanted());
  EXPECT_EQ(report("a").reporting, Reporting::kFresh);
  EXPECT_EQ(report("a").usage->node, "a");
  EXPECT_EQ(report("b").reporting, Reporting::kSilent);
  EXPECT_THAT(report("b").why, HasSubstr("no answer in time"));
  clock_.advance(seconds(60));
  EXPECT_FALSE(collector_->is_wanted());
}

TEST_F(CollectorTest, WhatAnAgentLiesIsNotBelieved) {
  for (const auto& text : {usage("b"), std::string("{torn"), std::string(R"({"version":"x"})")}) {
    says("a", text);
    open();
    look();
    EXPECT_EQ(report("a").reporting, Reporting::kSilent) << text;
    EXPECT_EQ(report("a").usage, nullptr);
    EXPECT_FALSE(report("a").why.empty());
  }
}

TEST_F(CollectorTest, WhoTellsWithoutEndTakesNoOthersRoom) {
  constexpr std::size_t kMany = 1000;
  most_bytes_ = 2 * kMany * sizeof(usage::ContainerFigures);
  places_ = {{"a", "10.0.0.1"}, {"b", "10.0.0.2"}, {"liar", "10.0.0.3"}};
  says("a", much_usage("a", kMany / 2));
  says("b", much_usage("b", kMany / 2));
  says("liar", much_usage("liar", 2 * kMany));
  open();
  look();
  EXPECT_EQ(report("a").reporting, Reporting::kFresh);
  EXPECT_EQ(report("b").reporting, Reporting::kFresh);
  EXPECT_EQ(report("liar").reporting, Reporting::kSilent);
  EXPECT_THAT(report("liar").why, HasSubstr("have room"));
  says("a", much_usage("a", kMany));
  EXPECT_TRUE(eventually([&] { return report("a").usage->containers.size() == kMany; }))
      << "what others leave is anybody's";
}

TEST_F(CollectorTest, WhoNoLongerAnswersIsStaleAndRests) {
  says("a", usage("a"));
  open();
  look();
  {
    const std::scoped_lock lock(mutex_);
    answers_.clear();
  }
  clock_.advance(seconds(17));
  ASSERT_TRUE(eventually([&] { return report("a").why.contains("no answer in time"); }));
  EXPECT_EQ(report("a").reporting, Reporting::kStale);
  EXPECT_THAT(report("a").why, HasSubstr("these figures are 17 s old"));
  EXPECT_NE(report("a").usage, nullptr) << "the last figures are shown";
}

TEST_F(CollectorTest, WhoFailsAgainAndAgainIsAskedLessOften) {
  open();
  look();
  ASSERT_TRUE(eventually([&] { return asked("a") == static_cast<int>(Collector::kFailures); }));
  std::this_thread::sleep_for(milliseconds(20));  // some rounds, in which it rests
  EXPECT_EQ(asked("a"), static_cast<int>(Collector::kFailures));
  clock_.advance(seconds(30));
  EXPECT_TRUE(eventually([&] { return asked("a") > static_cast<int>(Collector::kFailures); }));
}

TEST_F(CollectorTest, ANodeWithoutAnAgent) {
  says("a", usage("a"));
  open();
  look();
  {
    const std::scoped_lock lock(mutex_);
    places_.clear();
  }
  clock_.advance(seconds(17));
  ASSERT_TRUE(eventually([&] { return report("a").why.contains("no agent runs on it"); }));
  EXPECT_EQ(report("a").reporting, Reporting::kStale);
}

}  // namespace
}  // namespace tranche::controller::collector_test
