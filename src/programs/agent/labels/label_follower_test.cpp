#include "agent/labels/label_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_clock.h"
#include "support/log_recorder.h"
#include "support/machines.h"

namespace tranche::agent::label_follower_test {
namespace {

class KeptLabels final : public LabelSink {
 public:
  void write(const labels::Labels& labels) override { last = labels; }
  std::string place() const override { return "the test"; }
  labels::Labels last;
};

class LabelFollowerTest : public testing::Test {
 protected:
  LabelFollowerTest() : follower_(config::LabelsMode::kOn, keep(), clock_, log_.log()) {
    state_.machine = test::machine_of({test::l20(0)});
    state_.machine->driver_version = "550.54.15";
    share(state_.config.sharing.time_slicing, 8);
    offer::ResourceOffer resource;
    resource.name = resource.base = {"nvidia.com/gpu"};
    resource.limits = offer::OfferLimits{{.enforcement = Enforcement::kStrict}, {8}};
    offer_ = std::make_shared<const offer::Offer>(offer::Offer{.resources = {resource}});
    follow();
  }
  static void share(std::optional<config::ReplicatedResources>& list, int replicas) {
    list.emplace().resources.push_back({.name = {"nvidia.com/gpu"}, .replicas = replicas});
  }
  std::unique_ptr<LabelSink> keep() {
    auto sink = std::make_unique<KeptLabels>();
    sink_ = sink.get();
    return sink;
  }
  void serve(std::map<std::string, int> others) {
    state_.set(ServingStanding{.others = std::move(others)});
    follow();
  }
  void follow() { ASSERT_TRUE(follower_.follow({state_, offer_})); }
  std::string label(const std::string& name) {
    follower_.tick(clock_.now());
    const auto found = sink_->last.find(name);
    return found == sink_->last.end() ? "" : found->second;
  }

  test::FakeClock clock_;
  test::LogRecorder log_;
  KeptLabels* sink_ = nullptr;  // of the follower
  State state_;
  std::shared_ptr<const offer::Offer> offer_;
  LabelFollower follower_;
};

TEST_F(LabelFollowerTest, WhatAnotherPluginServesIsNotLabelledAsOurs) {
  EXPECT_EQ(label("nvidia.com/gpu.replicas"), "8");
  EXPECT_TRUE(label("nvidia.com/gpu.product").ends_with("-SHARED"));
  EXPECT_EQ(label("tranche.dev/gpu.limits"), "strict");

  serve({{"nvidia.com/gpu", 1}});
  EXPECT_EQ(label("nvidia.com/gpu.replicas"), "1");
  EXPECT_FALSE(label("nvidia.com/gpu.product").ends_with("-SHARED"));
  EXPECT_EQ(label("nvidia.com/gpu.sharing-strategy"), "none");
  EXPECT_EQ(label("tranche.dev/gpu.limits"), "");
  EXPECT_EQ(label("nvidia.com/gpu.count"), "1") << "the machine is what it is";

  serve({{"nvidia.com/gpu", 3}});
  EXPECT_EQ(label("nvidia.com/gpu.replicas"), "3");

  serve({});
  EXPECT_EQ(label("nvidia.com/gpu.replicas"), "8");
  EXPECT_EQ(label("tranche.dev/gpu.limits"), "strict");
}

TEST_F(LabelFollowerTest, TheNodeOfTheMpsDaemonsStaysLabelled) {
  state_.config.sharing.time_slicing.reset();
  share(state_.config.sharing.mps, 8);
  follow();
  EXPECT_EQ(label("nvidia.com/gpu.sharing-strategy"), "mps");
  serve({{"nvidia.com/gpu", 1}});
  EXPECT_EQ(label("nvidia.com/gpu.sharing-strategy"), "none");
  EXPECT_EQ(label("nvidia.com/mps.capable"), "true");
}

TEST(AsServed, AResourceThatTheConfigurationDoesNotShareIsSharedAsItIsServed) {
  const auto config = as_served(config::Config(), {{"nvidia.com/gpu", 4}});
  ASSERT_TRUE(config.sharing.time_slicing);
  ASSERT_EQ(config.sharing.time_slicing->resources.size(), 1U);
  EXPECT_EQ(config.sharing.time_slicing->resources[0].replicas, 4);
  EXPECT_EQ(as_served(config::Config(), {}), config::Config());
}

}  // namespace
}  // namespace tranche::agent::label_follower_test
