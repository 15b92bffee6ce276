#include "agent/dra/mps_opener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/config/mode_standing.h"
#include "agent/dra/claim_standing.h"
#include "agent/mps/mps_standing.h"
#include "agent/withholding/held_standing.h"
#include "base/fs.h"
#include "mps/open_file.h"
#include "support/fake_clock.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::agent::mps_opener_test {
namespace {

using cluster::NodeMode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kResource = "nvidia.com/gpu";

State state(NodeMode mode) {
  State state;
  state.edit<MpsStandings>()[{kResource}].gpus = {"GPU-a", "GPU-b"};
  state.edit<NodeModeStanding>().mode = mode;
  return state;
}

TEST(ResourcesToOpen, InModeDraWhenNoContainerOfTheDevicePluginHoldsAGpuOfIt) {
  auto dra = state(NodeMode::kDra);
  EXPECT_THAT(resources_to_open(dra, {}), ElementsAre(kResource));
  dra.edit<HeldStanding>().at_odds = {{.gpu = "GPU-b", .resource = {kResource}, .id = "GPU-b::1"}};
  EXPECT_THAT(resources_to_open(dra, {}), IsEmpty());
  dra.edit<HeldStanding>().at_odds[0].gpu = "GPU-c";
  EXPECT_THAT(resources_to_open(dra, {}), ElementsAre(kResource)) << "of another resource";
}

TEST(ResourcesToOpen, InModeDevicePluginAsLongAsAClaimHoldsAGpuOfIt) {
  auto plugin = state(NodeMode::kDevicePlugin);
  plugin.edit<ClaimStanding>().held = {{{.device = "MIG-b", .gpu = "GPU-b", .claim = "half"}}};
  EXPECT_THAT(resources_to_open(plugin, {kResource}), ElementsAre(kResource));
  EXPECT_THAT(resources_to_open(plugin, {}), IsEmpty()) << "it was never a client";
  plugin.edit<ClaimStanding>().held->clear();
  EXPECT_THAT(resources_to_open(plugin, {kResource}), IsEmpty());
}

TEST(ResourcesToOpen, WhileItIsNotKnownWhatIsHeldAllStaysAsItIs) {
  for (const auto mode : {NodeMode::kDra, NodeMode::kDevicePlugin}) {
    auto unknown = state(mode);
    unknown.edit<ClaimStanding>().held.reset();
    EXPECT_THAT(resources_to_open(unknown, {kResource}), ElementsAre(kResource));
    EXPECT_THAT(resources_to_open(unknown, {}), IsEmpty());
  }
  auto none = state(NodeMode::kDra);
  none.edit<MpsStandings>().clear();
  EXPECT_THAT(resources_to_open(none, {kResource}), IsEmpty()) << "MPS shares it no more";
}

// A container may be granted a GPU after the holdings were read.
TEST(MpsOpener, WhatIsGrantedMeanwhileKeepsTheLimits) {
  const test::TempDir dir;
  test::LogRecorder log;
  const test::FakeClock clock;
  Book book(clock);
  const auto dra = state(NodeMode::kDra);
  const auto offer = std::make_shared<offer::Offer>();
  const offer::Grant grant{.resource = {kResource}, .ids = {"GPU-b::0"}, .envs = {}};
  MpsOpener opener(dir.path(), book, log.log());
  ASSERT_TRUE(book.reserve(grant));
  ASSERT_TRUE(opener.follow({dra, offer}));
  EXPECT_THAT(mps::read_open(dir.path()).value(), IsEmpty());
  book.withdraw(grant);
  ASSERT_TRUE(opener.follow({dra, offer}));
  EXPECT_THAT(mps::read_open(dir.path()).value(), ElementsAre(kResource));
  const auto refused = book.reserve(grant);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("its MPS control daemon sets no limits"));
  const auto plugin = state(NodeMode::kDevicePlugin);
  ASSERT_TRUE(opener.follow({plugin, offer}));
  EXPECT_TRUE(book.reserve(grant)) << "the device plugin has them again";
}

TEST(MpsOpener, WritesWhatItIsAndSaysOnceThatItCannot) {
  const test::TempDir dir;
  test::LogRecorder log;
  const auto dra = state(NodeMode::kDra);
  const auto offer = std::make_shared<offer::Offer>();
  const test::FakeClock clock;
  Book book(clock);
  MpsOpener opener(dir.path(), book, log.log());
  ASSERT_TRUE(opener.follow({dra, offer}));
  EXPECT_THAT(mps::read_open(dir.path()).value(), ElementsAre(kResource));
  opener.rest();
  const auto plugin = state(NodeMode::kDevicePlugin);
  ASSERT_TRUE(opener.follow({plugin, offer}));
  EXPECT_THAT(mps::read_open(dir.path()).value(), ElementsAre(kResource)) << "another agent serves";

  MpsOpener nowhere(dir.path() / "gone", book, log.log());
  ASSERT_TRUE(nowhere.follow({dra, offer}));
  ASSERT_TRUE(nowhere.follow({dra, offer}));
  EXPECT_EQ(log.count("cannot be told whether claims get their GPUs"), 1);
  // It is retried without any other event.
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
