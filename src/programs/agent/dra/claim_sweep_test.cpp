#include "agent/dra/claim_sweep.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/fake_pod_resources.h"
#include "support/log_recorder.h"
#include "support/machines.h"

namespace tranche::agent::claim_sweep_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kUid = "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a";
constexpr const char* kOther = "1b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1b";
const cluster::ObjectKey kHalf{"team", "half"};

class ClaimSweepTest : public testing::Test {
 protected:
  ClaimSweepTest() {
    book_.restore({{kUid, {.ns = "team", .name = "half", .uid = kUid, .boot = "boot-1"}}},
                  machine_);
    put(kUid);
  }

  void put(const std::string& uid) {
    objects_.put(cluster::kResourceClaim,
                 fmt::format(R"({{"metadata": {{"namespace": "team", "name": "half",
                                                "uid": "{}"}}}})",
                             uid));
  }
  void look(int times) {
    for (int i = 0; i < times; ++i) EXPECT_TRUE(sweep_.look());
  }

  gpu::Machine machine_ = test::machine_of({test::l20(0)});
  test::FakeObjects objects_;
  test::FakePodResources kubelet_;
  test::LogRecorder log_;
  test::FakeClock clock_;
  Book book_{clock_};
  std::vector<std::string> undone_;
  bool disk_full_ = false;
  ClaimSweep sweep_{{.objects = objects_,
                     .kubelet = kubelet_,
                     .book = book_,
                     .undo = [this](const dra::ClaimName& claim) -> Result<void> {
                       if (disk_full_) return fail(Code::kIo, "disk full");
                       undone_.push_back(claim.uid);
                       book_.end(claim.uid);
                       return {};
                     },
                     .log = log_.log()}};
};

TEST_F(ClaimSweepTest, AClaimThatIsThereStays) {
  look(3);
  EXPECT_THAT(undone_, IsEmpty());
}

TEST_F(ClaimSweepTest, OneThatIsGoneIsUndoneAtTheSecondLook) {
  objects_.erase(cluster::kResourceClaim, kHalf);
  look(1);
  EXPECT_THAT(undone_, IsEmpty()) << "kubelet may be ending its containers";
  look(2);
  EXPECT_THAT(undone_, ElementsAre(kUid));
  EXPECT_EQ(log_.count("claim team/half (0b51bcc7"), 1);
}

TEST_F(ClaimSweepTest, OneThatWasMadeAnewUnderItsNameIsAnother) {
  objects_.erase(cluster::kResourceClaim, kHalf);
  put(kOther);
  look(2);
  EXPECT_THAT(undone_, ElementsAre(kUid));
}

TEST_F(ClaimSweepTest, WhatAContainerUsesStays) {
  objects_.erase(cluster::kResourceClaim, kHalf);
  kubelet_.hold_claims({{"team", "web", "main", kHalf}});
  look(3);
  EXPECT_THAT(undone_, IsEmpty());
  kubelet_.hold_claims({});
  look(1);
  EXPECT_THAT(undone_, IsEmpty()) << "its container has just gone";
  look(1);
  EXPECT_THAT(undone_, ElementsAre(kUid));
}

TEST_F(ClaimSweepTest, WhoCannotBeAskedHasNotSaidThatItIsGone) {
  objects_.erase(cluster::kResourceClaim, kHalf);
  objects_.refuse("get", cluster::kResourceClaim, {Code::kUnavailable, "away"});
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(sweep_.look());
  objects_.recover();
  kubelet_.go_away(true);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(sweep_.look());
  kubelet_.go_away(false);
  look(1);
  EXPECT_THAT(undone_, IsEmpty()) << "two looks in a row";
  look(1);
  EXPECT_THAT(undone_, ElementsAre(kUid));
}

TEST_F(ClaimSweepTest, OneThatCannotBeUndoneIsTriedAgain) {
  objects_.erase(cluster::kResourceClaim, kHalf);
  disk_full_ = true;
  look(1);
  EXPECT_FALSE(sweep_.look());
  disk_full_ = false;
  look(1);
  EXPECT_THAT(undone_, ElementsAre(kUid));
}

}  // namespace
}  // namespace tranche::agent::claim_sweep_test
