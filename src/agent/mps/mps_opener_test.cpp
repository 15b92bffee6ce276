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
  dra.promises.at_odds = {{.resource = {kResource}, .id = "GPU-b::1", .gpu_uuid = "GPU-b"}};
  EXPECT_THAT(resources_to_open(dra, {}), IsEmpty());
  dra.promises.at_odds[0].gpu_uuid = "GPU-c";
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

TEST(MpsOpener, WritesWhatItIsAndSaysOnceThatItCannot) {
  const test::TempDir dir;
  test::LogRecorder log;
  const auto dra = state(NodeMode::kDra);
  const auto offer = std::make_shared<offer::Offer>();
  MpsOpener opener(dir.path(), log.log());
  ASSERT_TRUE(opener.follow({dra, offer}));
  EXPECT_THAT(mps::read_open(dir.path()).value(), ElementsAre(kResource));
  opener.rest();
  const auto plugin = state(NodeMode::kDevicePlugin);
  ASSERT_TRUE(opener.follow({plugin, offer}));
  EXPECT_THAT(mps::read_open(dir.path()).value(), ElementsAre(kResource)) << "another agent serves";

  MpsOpener nowhere(dir.path() / "gone", log.log());
  ASSERT_TRUE(nowhere.follow({dra, offer}));
  ASSERT_TRUE(nowhere.follow({dra, offer}));
  EXPECT_EQ(log.count("cannot be told whether claims get their GPUs"), 1);
}

}  // namespace
}  // namespace tranche::agent::mps_opener_test
