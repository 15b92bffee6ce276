#include "agent/notices/unplanned_mig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/config/mode_standing.h"
#include "support/log_recorder.h"
#include "support/machines.h"

namespace tranche::agent::unplanned_mig_test {
namespace {

using test::a100_40gb;
using test::machine_of;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class UnplannedMigTest : public testing::Test {
 protected:
  UnplannedMigTest() {
    state_.config.flags.mig_strategy = config::MigStrategy::kMixed;
    state_.machine = machine_of({a100_40gb(0), a100_40gb(1).mig({"1g.5gb"})});
  }
  void look() {
    now_ += UnplannedMig::kEach;
    follower_.tick(now_);
  }
  void follow() { EXPECT_TRUE(follower_.follow({state_, offer_})); }

  State state_;
  std::shared_ptr<const offer::Offer> offer_ = std::make_shared<const offer::Offer>();
  std::optional<std::string> label_ = "";
  std::vector<ConditionReport> reports_;
  test::LogRecorder log_;
  UnplannedMig follower_{[this] { return label_; },
                         [this](const auto& report) { reports_.push_back(report); }, log_.log()};
  Follower::TimePoint now_{std::chrono::hours(1)};
};

TEST_F(UnplannedMigTest, IsAWarningAConditionAndARemarkAndNoTrouble) {
  look();
  EXPECT_THAT(reports_, IsEmpty()) << "the hardware has not answered yet";
  follow();
  follower_.tick(now_);
  ASSERT_THAT(reports_, SizeIs(1));
  EXPECT_FALSE(reports_[0].good);
  EXPECT_EQ(reports_[0].reason, "MigUnplanned");
  EXPECT_THAT(reports_[0].message, HasSubstr("GPU 0 advertised whole and GPU 1 in MIG instances"));
  EXPECT_THAT(follower_.remark(), HasSubstr("GPU 0"));
  EXPECT_EQ(follower_.trouble(), "");
  follower_.tick(now_);
  EXPECT_THAT(reports_, SizeIs(1)) << "not at each turn";
  look();
  EXPECT_THAT(reports_, SizeIs(2)) << "again, should somebody have changed the Node";
  EXPECT_THAT(log_.lines(), SizeIs(1));
}

TEST_F(UnplannedMigTest, ForClaimsNothingIsUnplanned) {
  state_.edit<NodeModeStanding>().mode = cluster::NodeMode::kDra;
  state_.config.flags.mig_strategy = config::MigStrategy::kNone;
  follow();
  look();
  ASSERT_THAT(reports_, SizeIs(1));
  EXPECT_TRUE(reports_[0].good);
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(UnplannedMigTest, ALabelThatNamesALayoutEndsIt) {
  follow();
  look();
  label_ = "mixed-workload";
  look();
  ASSERT_THAT(reports_, SizeIs(2));
  EXPECT_TRUE(reports_[1].good);
  EXPECT_FALSE(reports_[1].written_while_good) << "a node that was never bad has no condition";
  EXPECT_EQ(follower_.remark(), "");
}

TEST_F(UnplannedMigTest, NothingIsSaidWhileTheNodeIsNotKnown) {
  label_.reset();
  follow();
  look();
  EXPECT_THAT(reports_, IsEmpty());
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(UnplannedMigTest, WithoutAClusterTheLogSaysIt) {
  UnplannedMig alone({}, {}, log_.log());
  EXPECT_TRUE(alone.follow({state_, offer_}));
  alone.tick(now_);
  EXPECT_THAT(log_.lines(), SizeIs(1));
}

}  // namespace
}  // namespace tranche::agent::unplanned_mig_test
