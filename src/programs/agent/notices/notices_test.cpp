#include "agent/notices/notices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/config/mode_standing.h"
#include "agent/dra/claim_standing.h"
#include "cluster/formats/reasons.h"
#include "support/log_recorder.h"

namespace tranche::agent::notices_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class NoticesTest : public testing::Test {
 protected:
  void follow() {
    EXPECT_TRUE(notices_.follow({.state = state_, .offer = std::make_shared<offer::Offer>()}));
  }

  State state_;
  test::LogRecorder log_;
  std::vector<NodeNotice> told_;
  Notices notices_{{}, [this](const NodeNotice& notice) { told_.push_back(notice); }, log_.log()};
};

TEST_F(NoticesTest, NothingIsSaidOfClaimsWhileNothingIsWrong) {
  follow();
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(NoticesTest, GatesThatAreOffAreToldOnce) {
  state_.edit<ClaimStanding>().gates_off = "turn on DRAConsumableCapacity";
  follow();
  follow();
  ASSERT_THAT(told_, SizeIs(1));
  EXPECT_EQ(told_[0].reason, cluster::reason::kFeatureGatesOff);
  EXPECT_EQ(told_[0].note, "turn on DRAConsumableCapacity");
  EXPECT_EQ(log_.count("turn on DRAConsumableCapacity"), 1);
}

TEST_F(NoticesTest, ALabelThatIsNoModeIsToldAgainWhenItIsAnother) {
  for (const auto* trouble : {"'drra'", "'drra'", "", "'x'"}) {
    state_.edit<NodeModeStanding>().label_trouble = trouble;
    follow();
  }
  ASSERT_THAT(told_, SizeIs(2));
  EXPECT_EQ(told_[1].reason, cluster::reason::kNodeModeUnknown);
  EXPECT_EQ(told_[1].note, "'x'");
}

TEST_F(NoticesTest, WhatKeepsClaimsInsteadOfTheKernelIsToldWhereClaimsAreServed) {
  state_.edit<ClaimStanding>().enforcers.instead = "memory of claims is kept by the limiter";
  follow();
  EXPECT_THAT(told_, IsEmpty()) << "the device plugin's part says so";
  state_.edit<NodeModeStanding>().mode = cluster::NodeMode::kDra;
  follow();
  follow();
  ASSERT_THAT(told_, SizeIs(1));
  EXPECT_EQ(told_[0].reason, cluster::reason::kNoKernelLimits);
}

TEST_F(NoticesTest, ClaimsOfAnotherSharingAreTold) {
  state_.edit<ClaimStanding>().enforcers.gpus["GPU-a"].mps = "nvidia.com/gpu";
  state_.edit<ClaimStanding>().held = {
      {{.device = "GPU-a", .claim = "a", .ns = "team"},
       {.device = "GPU-b", .claim = "b", .mps = "nvidia.com/gpu", .ns = "team"}}};
  follow();
  follow();
  ASSERT_THAT(told_, SizeIs(2));
  EXPECT_EQ(told_[0].reason, cluster::reason::kGrantBeforeMps);
  EXPECT_EQ(told_[0].note.substr(0, 57),
            "claims prepared before MPS served their GPU: team/a; proc");
  EXPECT_EQ(told_[1].reason, cluster::reason::kMpsGrantStale);
}

}  // namespace
}  // namespace tranche::agent::notices_test
