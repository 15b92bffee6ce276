#include "agent/mps/mps_opener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"
#include "mps/open_file.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::agent::mps_opener_test {
namespace {

using cluster::NodeMode;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kResource = "nvidia.com/gpu";

State state(NodeMode mode) {
  State state;
  state.mps[{kResource}].gpus = {"GPU-a", "GPU-b"};
  state.claims.mode = mode;
  return state;
}

TEST(ResourcesToOpen, InModeDraWhenNoContainerOfTheDevicePluginHoldsAGpuOfIt) {
  auto dra = state(NodeMode::kDra);
  EXPECT_THAT(resources_to_open(dra, {}), ElementsAre(kResource));
  dra.held.at_odds = {{.gpu = "GPU-b", .resource = {kResource}, .id = "GPU-b::1"}};
  EXPECT_THAT(resources_to_open(dra, {}), IsEmpty());
  dra.held.at_odds[0].gpu = "GPU-c";
  EXPECT_THAT(resources_to_open(dra, {}), ElementsAre(kResource)) << "of another resource";
}

TEST(ResourcesToOpen, InModeDevicePluginAsLongAsAClaimHoldsAGpuOfIt) {
  auto plugin = state(NodeMode::kDevicePlugin);
  plugin.claims.held = {{"GPU-b", "team/half"}};
  EXPECT_THAT(resources_to_open(plugin, {kResource}), ElementsAre(kResource));
  EXPECT_THAT(resources_to_open(plugin, {}), IsEmpty()) << "it was never a client";
  plugin.claims.held.clear();
  EXPECT_THAT(resources_to_open(plugin, {kResource}), IsEmpty());
}

TEST(ResourcesToOpen, WhileItIsNotKnownWhatIsHeldAllStaysAsItIs) {
  for (const auto mode : {NodeMode::kDra, NodeMode::kDevicePlugin}) {
    auto unknown = state(mode);
    unknown.claims.known = false;
    EXPECT_THAT(resources_to_open(unknown, {kResource}), ElementsAre(kResource));
    EXPECT_THAT(resources_to_open(unknown, {}), IsEmpty());
  }
  auto none = state(NodeMode::kDra);
  none.mps.clear();
  EXPECT_THAT(resources_to_open(none, {kResource}), IsEmpty()) << "MPS shares it no more";
}

bool nobody(const std::set<std::string>& /*gpus*/) { return false; }

// A container may be granted a GPU after the promises were looked at.
TEST(MpsOpener, WhatIsGrantedMeanwhileKeepsTheLimits) {
  const test::TempDir dir;
  test::LogRecorder log;
  const auto dra = state(NodeMode::kDra);
  const auto offer = std::make_shared<offer::Offer>();
  bool granted = true;
  MpsOpener* here = nullptr;
  MpsOpener opener(
      dir.path(),
      [&](const std::set<std::string>& gpus) {
        EXPECT_THAT(gpus, ElementsAre("GPU-a", "GPU-b"));
        EXPECT_TRUE(here->is_open(kResource)) << "who grants now is refused";
        return granted;
      },
      log.log());
  here = &opener;
  ASSERT_TRUE(opener.follow({dra, offer}));
  EXPECT_THAT(mps::read_open(dir.path()).value(), IsEmpty());
  EXPECT_FALSE(opener.is_open(kResource));
  granted = false;
  ASSERT_TRUE(opener.follow({dra, offer}));
  EXPECT_THAT(mps::read_open(dir.path()).value(), ElementsAre(kResource));
  EXPECT_TRUE(opener.is_open(kResource));
}

TEST(MpsOpener, WritesWhatItIsAndSaysOnceThatItCannot) {
  const test::TempDir dir;
  test::LogRecorder log;
  const auto dra = state(NodeMode::kDra);
  const auto offer = std::make_shared<offer::Offer>();
  MpsOpener opener(dir.path(), nobody, log.log());
  ASSERT_TRUE(opener.follow({dra, offer}));
  EXPECT_THAT(mps::read_open(dir.path()).value(), ElementsAre(kResource));
  opener.rest();
  const auto plugin = state(NodeMode::kDevicePlugin);
  ASSERT_TRUE(opener.follow({plugin, offer}));
  EXPECT_THAT(mps::read_open(dir.path()).value(), ElementsAre(kResource)) << "another agent serves";

  MpsOpener nowhere(dir.path() / "gone", nobody, log.log());
  ASSERT_TRUE(nowhere.follow({dra, offer}));
  ASSERT_TRUE(nowhere.follow({dra, offer}));
  EXPECT_EQ(log.count("cannot be told whether claims get their GPUs"), 1);
  // It is tried again, without anything else that happens.
  const Follower::TimePoint now{std::chrono::hours(1)};
  nowhere.tick(now);
  ASSERT_TRUE(nowhere.next_tick());
  ASSERT_TRUE(FsRoot().make_directories(dir.path() / "gone"));
  nowhere.tick(*nowhere.next_tick());
  EXPECT_THAT(mps::read_open(dir.path() / "gone").value(), ElementsAre(kResource));
  EXPECT_FALSE(nowhere.next_tick());
}

}  // namespace
}  // namespace tranche::agent::mps_opener_test
