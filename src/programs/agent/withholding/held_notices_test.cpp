#include "agent/withholding/held_notices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/config/mode_standing.h"
#include "agent/withholding/held_standing.h"
#include "cluster/formats/reasons.h"
#include "support/log_recorder.h"
#include "support/machines.h"

namespace tranche::agent::held_notices_test {
namespace {

using test::gpu_uuid;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

offer::HeldDevice held(int gpu, std::vector<std::string> pods) {
  offer::HeldDevice device{.resource = {"nvidia.com/gpu"},
                           .uuid = gpu_uuid(gpu),
                           .index = std::to_string(gpu),
                           .withheld = 1,
                           .tranches = 1,
                           .by = {}};
  for (const auto& pod : pods) {
    device.by.push_back({.resource = {"nvidia.com/gpu.shared"},
                         .id = offer::replica_id(gpu_uuid(gpu), static_cast<int>(device.by.size())),
                         .ns = pod.substr(0, pod.find('/')),
                         .pod = pod.substr(pod.find('/') + 1),
                         .use = holdings::Use::kTimeSliced});
  }
  return device;
}

class HeldNoticesTest : public testing::Test {
 protected:
  void follow(std::vector<offer::HeldDevice> devices, bool asked = true) {
    state_.edit<HeldStanding>().asked = asked;
    offer::Offer offer;
    offer.held = std::move(devices);
    EXPECT_TRUE(notices_.follow({state_, std::make_shared<const offer::Offer>(std::move(offer))}));
  }

  State state_;
  test::LogRecorder log_;
  std::vector<NodeNotice> events_;
  std::vector<ConditionReport> conditions_;
  std::optional<std::vector<holdings::Holding>> claimed_;
  HeldNotices notices_{
      [this] { return claimed_; }, [this](const NodeNotice& notice) { events_.push_back(notice); },
      [this](const ConditionReport& report) { conditions_.push_back(report); }, log_.log()};
};

TEST_F(HeldNoticesTest, TellOnceThatADeviceIsHeldAndOnceThatItIsFree) {
  follow({held(0, {"ns/a", "ns/b"})});
  follow({held(0, {"ns/a", "ns/b"})});
  follow({held(0, {"ns/b"})});
  ASSERT_THAT(events_, SizeIs(1));
  EXPECT_TRUE(events_[0].warning);
  EXPECT_EQ(events_[0].reason, cluster::reason::kDevicesHeld);
  EXPECT_THAT(events_[0].note, HasSubstr("held as nvidia.com/gpu.shared by ns/a, ns/b"));
  EXPECT_FALSE(conditions_.back().good);
  EXPECT_THAT(conditions_.back().message, HasSubstr("by ns/b")) << "the condition follows";
  EXPECT_EQ(log_.count("is held as"), 2) << "the log has each change";
  follow({});
  follow({});
  ASSERT_THAT(events_, SizeIs(2));
  EXPECT_FALSE(events_[1].warning);
  EXPECT_EQ(events_[1].reason, cluster::reason::kDevicesFree);
  EXPECT_THAT(events_[1].note, HasSubstr(gpu_uuid(0) + " is free"));
  EXPECT_TRUE(conditions_.back().good);
}

TEST_F(HeldNoticesTest, WaitUntilKubeletHasSaidWhoHoldsIt) {
  follow({held(0, {""})}, false);
  EXPECT_THAT(events_, IsEmpty());
  EXPECT_THAT(conditions_, IsEmpty());
  follow({});
  EXPECT_THAT(events_, IsEmpty()) << "its holders had gone before";
}

TEST_F(HeldNoticesTest, TellOfADeviceThatIsHeldLater) {
  follow({held(0, {"ns/a"})});
  follow({held(0, {"ns/a"}), held(1, {"ns/b"})});
  ASSERT_THAT(events_, SizeIs(2));
  EXPECT_THAT(events_[1].note, HasSubstr("by ns/b"));
  EXPECT_THAT(events_[1].note, testing::Not(HasSubstr("by ns/a")));
}

// Capacity stays what the device plugin offered, and nothing else says why allocatable is less.
TEST_F(HeldNoticesTest, WhatIsHeldInTheOtherModeIsHeld) {
  auto& node = state_.edit<NodeModeStanding>();
  node.mode = cluster::NodeMode::kDra;
  state_.edit<HeldStanding>().at_odds = held(0, {"ns/a"}).by;
  state_.edit<HeldStanding>().at_odds.at(0).device = gpu_uuid(0);
  follow({}, false);
  EXPECT_THAT(events_, IsEmpty()) << "kubelet has not said who holds it";
  follow({});
  follow({});
  ASSERT_THAT(events_, SizeIs(1));
  EXPECT_EQ(events_[0].reason, cluster::reason::kDevicesHeld);
  EXPECT_THAT(events_[0].note, HasSubstr(gpu_uuid(0) + " is held as before this node was in mode "
                                                       "dra (tranche.dev/mode): by ns/a"));
  EXPECT_FALSE(conditions_.back().good);
  state_.edit<HeldStanding>().at_odds.clear();
  follow({});
  ASSERT_THAT(events_, SizeIs(2));
  EXPECT_EQ(events_[1].reason, cluster::reason::kDevicesFree);
  EXPECT_TRUE(conditions_.back().good);

  claimed_ = {{.device = gpu_uuid(1), .wire = holdings::Wire::kClaim, .claim = "c", .ns = "ns"}};
  follow({});
  EXPECT_TRUE(conditions_.back().good) << "claims are this mode's";
  state_.edit<NodeModeStanding>().mode = cluster::NodeMode::kDevicePlugin;
  follow({}, false);  // of claims kubelet is not asked
  EXPECT_THAT(conditions_.back().message, HasSubstr("in mode device-plugin (tranche.dev/mode): by "
                                                    "claim ns/c"));
}

TEST_F(HeldNoticesTest, SayOnceThatNothingIsWithheld) {
  state_.config.tranche.on_change = config::OnChange::kAsNvidia;
  follow({});
  follow({});
  EXPECT_EQ(log_.count("tranche.onChange is asNvidia"), 1);
  EXPECT_TRUE(conditions_.back().good);
}

TEST_F(HeldNoticesTest, ManyDevicesMakeABoundedMessage) {
  std::vector<offer::HeldDevice> devices;
  for (int i = 0; i < 16; ++i) devices.push_back(held(i, {"ns/a"}));
  follow(devices);
  EXPECT_THAT(conditions_.back().message, HasSubstr("and 8 more"));
  EXPECT_FALSE(conditions_.back().as_event) << "the Event is told once";
}

}  // namespace
}  // namespace tranche::agent::held_notices_test
