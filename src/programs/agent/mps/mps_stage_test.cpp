#include "agent/mps/mps_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "agent/hardware/leaving.h"
#include "base/fs.h"
#include "mps/plan.h"
#include "mps/ready_file.h"
#include "support/temp_dir.h"

namespace tranche::agent::mps_stage_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

offer::Offer shared_by_mps(std::string name = "nvidia.com/gpu") {
  offer::ResourceOffer resource;
  resource.name = {std::move(name)};
  resource.sharing = config::SharingStrategy::kMps;
  resource.devices.push_back({.uuid = "GPU-a", .paths = {}, .unhealthy_reason = {}});
  resource.devices.push_back({.uuid = "GPU-b", .paths = {}, .unhealthy_reason = "XID 79"});
  offer::Offer offer;
  offer.resources.push_back(std::move(resource));
  return offer;
}

class MpsStageTest : public testing::Test {
 protected:
  // From what is seen to what is offered.
  offer::Offer offered(const offer::Offer& wished) {
    input_.look(wished, state_);
    return offer_what_mps_serves(state_, wished);
  }
  void serve(const std::vector<std::string>& gpus = {}) {
    const auto started = mps::paths_of(dir_.path(), {"nvidia.com/gpu"}).started;
    ASSERT_TRUE(FsRoot().make_directories(started.parent_path()));
    daemon_.emplace(mps::ReadyFile::put(started, gpus).value());
  }

  test::TempDir dir_;
  MpsInput input_{dir_.path()};
  State state_;
  std::optional<mps::ReadyFile> daemon_;
};

TEST_F(MpsStageTest, WhatHasNotBeenServedYetIsWithheldAndLookedAtAgain) {
  const auto offer = offered(shared_by_mps());
  EXPECT_THAT(offer.resources, IsEmpty());
  ASSERT_THAT(offer.withheld, SizeIs(1));
  EXPECT_THAT(offer.withheld[0].reason, HasSubstr("sharing.mps: "));
  EXPECT_EQ(input_.interval(state_), MpsInput::kInterval);
  EXPECT_THAT(input_.trouble(state_), HasSubstr("nvidia.com/gpu: "));
}

TEST_F(MpsStageTest, WhatIsServedIsOffered) {
  serve();
  const auto offer = offered(shared_by_mps());
  ASSERT_THAT(offer.resources, SizeIs(1));
  EXPECT_TRUE(offer.resources[0].devices[0].healthy());
  EXPECT_EQ(input_.trouble(state_), "");
}

TEST_F(MpsStageTest, WhatWasServedBeforeStaysAndIsUnhealthy) {
  serve();
  offered(shared_by_mps());
  daemon_.reset();
  const auto offer = offered(shared_by_mps());
  ASSERT_THAT(offer.resources, SizeIs(1));
  EXPECT_FALSE(offer.resources[0].devices[0].healthy());
  EXPECT_EQ(offer.resources[0].devices[1].unhealthy_reason, "XID 79") << "its own reason stands";
}

TEST_F(MpsStageTest, WhatIsNotSharedByMpsAnyMoreIsForgotten) {
  serve();
  offered(shared_by_mps());
  daemon_.reset();
  offered({});
  EXPECT_EQ(input_.interval(state_), std::nullopt);
  EXPECT_THAT(offered(shared_by_mps()).resources, IsEmpty());
}

TEST_F(MpsStageTest, ADaemonOfOtherGpusIsAboutToEnd) {
  auto wished = shared_by_mps();
  auto& resource = wished.resources[0];
  resource.tranches = {{"GPU-a::0", 0}, {"GPU-a::1", 0}, {"GPU-b", 1}};
  serve({"GPU-a"});
  EXPECT_TRUE(offered(wished).resources[0].devices[0].healthy());
  daemon_.reset();
  serve({"GPU-a", "GPU-b"});
  EXPECT_THAT(offered(wished).resources[0].devices[0].unhealthy_reason, HasSubstr("other GPUs"));
  EXPECT_THAT(input_.trouble(state_), HasSubstr("nvidia.com/gpu: "));
}

TEST_F(MpsStageTest, ADaemonNeedNotServeAGpuThatIsLost) {
  auto wished = shared_by_mps();
  wished.resources[0].tranches = {
      {"GPU-a::0", 0}, {"GPU-a::1", 0}, {"GPU-b::0", 1}, {"GPU-b::1", 1}};
  serve({"GPU-a", "GPU-b"});
  offered(wished);
  daemon_.reset();
  serve({"GPU-a"});
  EXPECT_TRUE(offered(wished).resources[0].devices[0].healthy());
  wished.resources[0].devices[1].unhealthy_reason.clear();
  EXPECT_THAT(offered(wished).resources[0].devices[0].unhealthy_reason, HasSubstr("other GPUs"));
}

TEST_F(MpsStageTest, WhatEndsForAChangeOfTheMigLayoutIsLookedAtMoreOften) {
  state_.edit<MigStanding>().mps = {"nvidia.com/gpu"};
  offered(shared_by_mps());
  EXPECT_EQ(input_.interval(state_), MpsInput::kAwaited);
  serve();
  offered(shared_by_mps());
  EXPECT_EQ(input_.interval(state_), MpsInput::kInterval);
}

TEST_F(MpsStageTest, TheStageItselfSeesNothingButItsState) {
  serve();
  const auto offer = offer_what_mps_serves({}, shared_by_mps());
  EXPECT_THAT(offer.resources, SizeIs(1)) << "nothing is known of its daemon";
}

// Its limits are open, and the device plugin's containers bring none of their own.
TEST_F(MpsStageTest, WhatIsOpenForClaimsIsNotHandedOutUntilItIsSetAgain) {
  serve();
  auto offer = offered(shared_by_mps());
  ASSERT_THAT(offer.resources, SizeIs(1));
  EXPECT_TRUE(offer.resources[0].devices[0].healthy());
  ASSERT_TRUE(daemon_->renew({}, {.open = true}));
  offer = offered(shared_by_mps());
  EXPECT_THAT(offer.resources.at(0).devices[0].unhealthy_reason, HasSubstr("claims have GPUs"));
  ASSERT_TRUE(daemon_->renew({}, {}));
  EXPECT_TRUE(offered(shared_by_mps()).resources.at(0).devices[0].healthy());
}

}  // namespace
}  // namespace tranche::agent::mps_stage_test
