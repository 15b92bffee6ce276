#include "agent/config/config_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/log_recorder.h"

namespace tranche::agent::config_follower_test {
namespace {

using testing::ElementsAre;

config::Loaded with_replicas(int replicas) {
  config::Loaded loaded;
  loaded.config.sharing.time_slicing = config::ReplicatedResources{
      .resources = {{.name = {"nvidia.com/gpu"}, .replicas = replicas}}};
  loaded.json = "replicas " + std::to_string(replicas);
  return loaded;
}

class Source final : public ConfigSource {
 public:
  Result<config::Loaded> read() override { return next; }
  std::string origin() const override { return "the test"; }
  ConfigStanding standing() const override { return {ConfigStanding::Is::kDefault}; }
  void accepted() override { ++accepts; }

  std::optional<std::chrono::milliseconds> retry_after() const override { return retry; }

  Result<config::Loaded> next = with_replicas(1);
  int accepts = 0;
  std::optional<std::chrono::milliseconds> retry;
};

class ConfigFollowerTest : public testing::Test {
 protected:
  Source source_;
  test::LogRecorder log_;
  std::vector<ConfigReport> reports_;
  Result<void> fits_;
  ConfigFollower follower_{
      source_,
      with_replicas(1),
      {.check = [this](const config::Config&) { return fits_; },
       .report = [this](const ConfigReport& report) { reports_.push_back(report); }},
      log_.log()};
};

TEST_F(ConfigFollowerTest, WhatIsTheSameIsAcceptedAndNoNews) {
  EXPECT_FALSE(follower_.look());
  EXPECT_EQ(follower_.revision(), 0U);
  EXPECT_EQ(source_.accepts, 1);
  EXPECT_THAT(reports_, ElementsAre(ConfigReport{.applied = true, .message = "the test"}));
  EXPECT_EQ(log_.count("the configuration has changed"), 0);
}

TEST_F(ConfigFollowerTest, AnotherOneTakesEffectAndIsAnnounced) {
  source_.next = with_replicas(4);
  EXPECT_TRUE(follower_.look());
  EXPECT_EQ(follower_.revision(), 1U);
  EXPECT_EQ(follower_.config(), source_.next->config);
  EXPECT_EQ(log_.count("the configuration has changed (the test)"), 1);
  EXPECT_EQ(log_.count("replicas 4"), 1);
  EXPECT_FALSE(follower_.look());
}

TEST_F(ConfigFollowerTest, WhatIsRefusedChangesNothingAndIsSaidOnceUntilAnotherIsAccepted) {
  const auto before = follower_.config();
  source_.next = fail(Code::kInvalidArgument, "replicas: -3");
  EXPECT_FALSE(follower_.look());
  EXPECT_FALSE(follower_.look());
  EXPECT_EQ(follower_.config(), before);
  EXPECT_EQ(log_.count("replicas: -3; the new configuration is refused"), 1);
  EXPECT_EQ(source_.accepts, 0);
  ASSERT_EQ(reports_.size(), 2U);
  EXPECT_FALSE(reports_[0].applied);

  source_.next = with_replicas(1);
  EXPECT_FALSE(follower_.look());
  source_.next = fail(Code::kInvalidArgument, "replicas: -3");
  EXPECT_FALSE(follower_.look());
  EXPECT_EQ(log_.count("replicas: -3; the new configuration is refused"), 2);
}

TEST_F(ConfigFollowerTest, WhatCannotBeObeyedHereIsRefused) {
  source_.next = with_replicas(4);
  fits_ = fail(Code::kFailedPrecondition, "no channel 7");
  EXPECT_FALSE(follower_.look());
  EXPECT_EQ(follower_.revision(), 0U);
  EXPECT_EQ(log_.count("no channel 7; the new configuration is refused"), 1);
  fits_ = {};
  EXPECT_TRUE(follower_.look());
}

TEST_F(ConfigFollowerTest, WhatCannotBeKnownNowIsNoFaultOfTheConfiguration) {
  source_.next = fail(Code::kUnavailable, "the API server is away");
  EXPECT_FALSE(follower_.look());
  EXPECT_TRUE(reports_.empty());
}

TEST_F(ConfigFollowerTest, ItKnowsWhetherTheConfigurationInForceIsTheOneThatIsAskedFor) {
  using Is = ConfigStanding::Is;
  EXPECT_EQ(follower_.standing().is, Is::kUnknown);
  follower_.look();
  EXPECT_EQ(follower_.standing().is, Is::kDefault) << "as its source says";
  source_.next = fail(Code::kInvalidArgument, "replicas: -3");
  follower_.look();
  EXPECT_EQ(follower_.standing().is, Is::kOlder);
  source_.next = fail(Code::kUnavailable, "the API server is away");
  follower_.look();
  EXPECT_EQ(follower_.standing().is, Is::kOlder) << "nobody took back what was asked for";
  source_.next = with_replicas(4);
  follower_.look();
  EXPECT_EQ(follower_.standing().is, Is::kDefault);
  source_.next = with_replicas(2);
  fits_ = fail(Code::kFailedPrecondition, "no channel 7");
  follower_.look();
  EXPECT_EQ(follower_.standing().is, Is::kOlder);
}

TEST_F(ConfigFollowerTest, AFileThatIsBeingWrittenIsNoRefusalAndIsLookedAtAgain) {
  source_.next = fail(Code::kUnavailable, "config.yaml is being written");
  source_.retry = std::chrono::seconds(1);
  EXPECT_FALSE(follower_.look());
  EXPECT_FALSE(follower_.look());
  EXPECT_EQ(follower_.look_again(), std::chrono::seconds(1));
  EXPECT_EQ(log_.count("is being written; until then the old configuration stays in force"), 1);
  EXPECT_EQ(log_.count("refused"), 0);
  EXPECT_TRUE(reports_.empty());
  source_.next = with_replicas(4);
  source_.retry.reset();
  EXPECT_TRUE(follower_.look());
  EXPECT_FALSE(follower_.look_again());
}

}  // namespace
}  // namespace tranche::agent::config_follower_test
