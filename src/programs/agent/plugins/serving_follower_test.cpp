#include "agent/plugins/serving_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_clock.h"
#include "support/log_recorder.h"

namespace tranche::agent::serving_follower_test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* kGpu = "nvidia.com/gpu";
const std::set<std::string> kOurs = {"GPU-a::0", "GPU-a::1"};
const std::set<std::string> kTheirs = {"GPU-a"};

// One registered GPU in two; the test gives kubelet's answers.
class ServingFollowerTest : public testing::Test {
 protected:
  ServingFollowerTest() { open(false); }

  void open(bool take_over) {
    follower_.emplace(ServingFollower::Parts{
        .plugins = {.is_registered = [this](const auto&) { return is_registered_; },
                    .socket_trouble = [this](const auto&) { return socket_trouble_; },
                    .register_again = [this](const auto&) { ++registered_; },
                    .take_events = [this] { return std::exchange(events_, {}); }},
        .ask = [this] { ++asked_; },
        .look_again = [this] { ++looked_again_; },
        .report = [this](const auto& report) { condition_ = report; },
        .tell = [this](const auto& notice) { told_.push_back(notice); },
        .take_over = take_over,
        .clock = clock_,
        .log = log_.log()});
    offer(2);
  }
  void offer(int replicas) {
    offer::ResourceOffer resource;
    resource.name = resource.base = {kGpu};
    resource.devices = {{.uuid = "GPU-a", .gpu_uuid = "GPU-a"}};
    for (int i = 0; i < replicas; ++i) {
      resource.tranches.push_back({offer::replica_id("GPU-a", i), 0});
    }
    const auto offer = std::make_shared<const offer::Offer>(offer::Offer{.resources = {resource}});
    EXPECT_TRUE(follower_->follow({state_, offer}));
  }
  // Passes the time until kubelet is asked next, and answers.
  void answer(const std::set<std::string>& ids, const std::string& resource = kGpu) {
    const int asked = asked_;
    while (asked_ == asked) {
      const auto next = follower_->next_tick();
      ASSERT_TRUE(next);
      if (*next > clock_.now()) clock_.advance(*next - clock_.now());
      follower_->tick(clock_.now());
    }
    cluster::AllocatableDevices devices = {{kGpu, resource == kGpu ? ids : kOurs}};
    devices[resource] = ids;
    follower_->answered(devices);
  }
  void refuse() {
    events_.push_back(
        {.kind = PluginEvent::Kind::kRefused, .resource = kGpu, .detail = "unknown device: GPU-a"});
  }

  State state_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  bool is_registered_ = true;
  std::string socket_trouble_;
  int registered_ = 0;
  int asked_ = 0;
  int looked_again_ = 0;
  std::vector<PluginEvent> events_;
  std::vector<NodeNotice> told_;
  std::optional<ConditionReport> condition_;
  std::optional<ServingFollower> follower_;
};

TEST_F(ServingFollowerTest, IsTrueWhileKubeletOffersWhatWeOffer) {
  answer(kOurs);
  ASSERT_TRUE(condition_);
  EXPECT_TRUE(condition_->good);
  EXPECT_EQ(condition_->type, "TrancheServing");
  EXPECT_EQ(condition_->reason, "Serving");
  EXPECT_EQ(follower_->trouble(), "");
  EXPECT_EQ(*follower_->next_tick() - clock_.now(), seconds(10));
  answer(kOurs);
  EXPECT_EQ(log_.count("kubelet offers what this agent offers"), 1);
}

TEST_F(ServingFollowerTest, OneAnswerAloneIsNoTrouble) {
  answer(kOurs);
  answer({});
  EXPECT_TRUE(condition_->good);
  EXPECT_EQ(*follower_->next_tick() - clock_.now(), seconds(1)) << "looked at again soon";
  answer(kOurs);
  EXPECT_TRUE(condition_->good);
  EXPECT_EQ(registered_, 0);
}

TEST_F(ServingFollowerTest, WhatKubeletHasNotListedYetIsNotLost) {
  clock_.advance(seconds(60));
  for (int i = 0; i < 3; ++i) {
    events_.push_back({.kind = PluginEvent::Kind::kRegistered, .resource = kGpu, .detail = ""});
    follower_->tick(clock_.now());
    follower_->answered(cluster::AllocatableDevices{});
    clock_.advance(std::chrono::milliseconds(3));
  }
  EXPECT_FALSE(condition_);
  answer(kOurs);
  EXPECT_TRUE(condition_->good);
  EXPECT_EQ(registered_, 0);
}

TEST_F(ServingFollowerTest, AnotherPluginIsLeftAloneAndTold) {
  answer(kTheirs);
  answer(kTheirs);
  EXPECT_FALSE(condition_->good);
  EXPECT_EQ(condition_->reason, "AnotherPlugin");
  EXPECT_EQ(condition_->message,
            "another device plugin serves nvidia.com/gpu: kubelet offers 1 of it (GPU-a), not the "
            "2 of this agent; remove the other plugin from this node, or set --take-over");
  EXPECT_EQ(follower_->trouble(), condition_->message);
  EXPECT_THAT(follower_->standing().others, ElementsAre(Pair(kGpu, 1)));
  EXPECT_EQ(looked_again_, 1) << "the labels say who serves it";
  for (int i = 0; i < 100; ++i) answer(kTheirs);
  EXPECT_EQ(registered_, 0);
  EXPECT_EQ(looked_again_, 1);
  EXPECT_EQ(log_.count("another device plugin serves"), 1);
  answer({});
  answer({});
  EXPECT_EQ(condition_->reason, "RegistrationLost");
  EXPECT_EQ(registered_, 1) << "the other one has gone";
  EXPECT_THAT(follower_->standing().others, IsEmpty());
  answer(kOurs);
  EXPECT_TRUE(condition_->good);
  EXPECT_EQ(follower_->trouble(), "");
}

TEST_F(ServingFollowerTest, WithTakeOverItIsRegisteredAgainWithBackOff) {
  open(true);
  answer(kTheirs);
  answer(kTheirs);
  EXPECT_EQ(registered_, 1);
  EXPECT_THAT(condition_->message, HasSubstr("registering again"));
  // Somebody takes it back each time: after 1, 2, 4, ... 60 s.
  for (int second = 0; second < 600; ++second) answer(kTheirs);
  EXPECT_LE(registered_, 16);
  EXPECT_GE(registered_, 14);
  ASSERT_EQ(told_.size(), 2U) << "and no storm of Events";
  EXPECT_EQ(told_[0].reason, "RegisteredAgain");
  EXPECT_THAT(told_[1].note, HasSubstr("times in 10 minutes"));
  answer(kOurs);
  for (int i = 0; i < 61; ++i) answer(kOurs);
  answer(kTheirs);
  answer(kTheirs);
  const int before = registered_;
  answer(kTheirs);
  EXPECT_EQ(registered_, before + 1) << "after a calm time the back-off begins anew";
}

TEST_F(ServingFollowerTest, IdsOfAnotherPluginTellItsReplicas) {
  answer({"GPU-b::0", "GPU-b::1", "GPU-b::2", "GPU-a::0"});
  answer({"GPU-b::0", "GPU-b::1", "GPU-b::2", "GPU-a::0"});
  EXPECT_THAT(follower_->standing().others, ElementsAre(Pair(kGpu, 3)));
}

TEST_F(ServingFollowerTest, ARefusalHasKubeletAskedAtOnceAndIsBelieved) {
  answer(kOurs);
  refuse();
  answer(kTheirs);
  EXPECT_FALSE(condition_->good) << "without a second answer";
  EXPECT_EQ(registered_, 1) << "kubelet asks us, so the resource is ours";
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_EQ(told_[1].reason, "RegisteredAgain");
  EXPECT_EQ(told_[0].reason, "AllocateRefused");
  EXPECT_THAT(told_[0].note, HasSubstr("unknown device: GPU-a"));
}

TEST_F(ServingFollowerTest, RefusalsAreToldBounded) {
  answer(kOurs);
  for (int i = 0; i < 50; ++i) {
    refuse();
    answer(kOurs);
  }
  EXPECT_EQ(told_.size(), 1U);
  clock_.advance(std::chrono::minutes(10));
  follower_->tick(clock_.now());
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_THAT(told_[1].note, HasSubstr("(49 times in"));
}

TEST_F(ServingFollowerTest, ALostSocketIsTold) {
  answer(kOurs);
  events_.push_back({.kind = PluginEvent::Kind::kSocketLost, .resource = kGpu});
  socket_trouble_ = "another device plugin answers on /x";
  answer(kTheirs);
  EXPECT_EQ(condition_->reason, "SocketHeld");
  EXPECT_THAT(follower_->trouble(), HasSubstr("another device plugin answers on /x"));
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].reason, "SocketTaken");
  EXPECT_THAT(told_[0].note, HasSubstr("left to that plugin"));
  EXPECT_EQ(registered_, 0);
}

TEST_F(ServingFollowerTest, ARegistrationThatTakesLongIsToldAfterAWhile) {
  is_registered_ = false;
  answer({});
  answer({});
  EXPECT_FALSE(condition_) << "kubelet may be starting";
  for (int i = 0; i < 30; ++i) answer({});
  ASSERT_TRUE(condition_);
  EXPECT_EQ(condition_->reason, "NotRegistered");
  EXPECT_EQ(registered_, 0) << "the registrar tries already";
}

TEST_F(ServingFollowerTest, AKubeletThatDoesNotTellLeavesItUnknown) {
  answer(kOurs);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(condition_->good);
    clock_.advance(seconds(10));
    follower_->tick(clock_.now());
    follower_->answered(fail(Code::kUnavailable, "asking pod-resources: no such socket"));
  }
  EXPECT_TRUE(condition_->unknown);
  EXPECT_EQ(condition_->reason, "KubeletSilent");
  EXPECT_EQ(follower_->trouble(), "") << "it may be an old kubelet";
  answer(kOurs);
  EXPECT_TRUE(condition_->good);
}

TEST_F(ServingFollowerTest, AnAnswerOfBeforeTheLastChangeDoesNotCount) {
  answer(kOurs);
  clock_.advance(seconds(10));
  follower_->tick(clock_.now());
  offer(3);
  follower_->answered(cluster::AllocatableDevices{{kGpu, kOurs}});
  EXPECT_EQ(*follower_->next_tick() - clock_.now(), seconds(1));
  answer({"GPU-a::0", "GPU-a::1", "GPU-a::2"});
  EXPECT_TRUE(condition_->good);
}

TEST_F(ServingFollowerTest, AGpuThatAnotherPluginOffersTooIsToldAndServed) {
  answer({"GPU-a"}, "nvidia.com/other");
  answer({"GPU-a"}, "nvidia.com/other");
  EXPECT_FALSE(condition_->good);
  EXPECT_EQ(condition_->reason, "DeviceOfferedTwice");
  EXPECT_EQ(follower_->trouble(), "") << "our own list is served";
}

}  // namespace
}  // namespace tranche::agent::serving_follower_test
