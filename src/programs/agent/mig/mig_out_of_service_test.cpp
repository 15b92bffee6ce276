#include "agent/mig/mig_out_of_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/mig/machine_testing.h"
#include "gpu/mig_tables.h"

namespace tranche::agent::mig_out_of_service_test {
namespace {

using machine_testing::halves;
using machine_testing::journal;
using machine_testing::kGpu;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using Phase = mig::Journal::Phase;

// The journal's GPU, and one that shares an MPS control daemon with it.
MigView view() {
  const auto* model = gpu::find_mig_model("h100-80gb");
  MigView view;
  view.state.machine.emplace();
  for (int i = 1; i <= 2; ++i) {
    view.state.machine->gpus.push_back({.index = i,
                                        .uuid = {"GPU-" + std::to_string(i)},
                                        .name = std::string(model->product_names.front()),
                                        .minor = i,
                                        .memory = Bytes::from_mib(81920),
                                        .compute_capability = {9, 0},
                                        .mig_mode = gpu::MigMode::kDisabled,
                                        .mig_geometry = model->geometry});
  }
  view.state.config.flags.mig_strategy = config::MigStrategy::kNone;
  view.state.config.sharing.mps =
      config::ReplicatedResources{.resources = {{.name = {"nvidia.com/gpu"}, .replicas = 2}}};
  return view;
}

TEST(MigOutOfService, AStoredChangeWithholdsItsGpusBeforeAnythingIsRead) {
  MigOutOfService service;
  EXPECT_TRUE(service.serve(journal(Phase::kDraining)));
  EXPECT_FALSE(service.serve(journal(Phase::kDraining))) << "it is not news any more";
  EXPECT_THAT(service.standing({}).changing, ElementsAre(Key(kGpu.value)));
}

TEST(MigOutOfService, WhileTheControllerIsAskedAllStaysInService) {
  MigOutOfService service;
  service.begin(journal(Phase::kAsking), {}, view());
  EXPECT_FALSE(service.serve(journal(Phase::kAsking)));
  EXPECT_EQ(service.standing({}), MigStanding());
  EXPECT_THAT(service.leaving().standing.neighbours, ElementsAre(Key("GPU-2"))) << "it will leave";
}

TEST(MigOutOfService, WhatTheDriverListsIsInServiceAgainWhenTheChangeIsVerified) {
  MigOutOfService service;
  const auto now = view();
  service.begin(journal(Phase::kChanging), {}, now);
  service.serve(journal(Phase::kChanging));
  const auto after = with_layouts(now.machine(), halves());
  EXPECT_THAT(service.standing(after).changing, ElementsAre(Key(kGpu.value))) << "not before";
  EXPECT_TRUE(service.serve(journal(Phase::kVerifying)));
  EXPECT_THAT(service.standing(now.machine()).changing, ElementsAre(Key(kGpu.value)));
  EXPECT_THAT(service.standing(now.machine()).neighbours, ElementsAre(Key("GPU-2")));
  EXPECT_THAT(service.standing(after).changing, IsEmpty());
  EXPECT_THAT(service.standing(after).neighbours, IsEmpty());
}

TEST(MigOutOfService, AfterAnUndoTheOldLayoutIsAwaited) {
  MigOutOfService service;
  const auto now = view();
  auto undone = journal(Phase::kFinished);
  undone.trouble = "a GPU instance could not be made";
  service.begin(undone, {}, now);
  service.serve(undone);
  EXPECT_THAT(service.standing(now.machine()).changing, IsEmpty());
  EXPECT_THAT(service.standing(with_layouts(now.machine(), halves())).changing,
              ElementsAre(Key(kGpu.value)));
}

TEST(MigOutOfService, TheConfigurationMayChangeWhileItDrainsAndTheEndOfTheChangeIsTheEndOfAll) {
  MigOutOfService service;
  auto now = view();
  service.begin(journal(Phase::kDraining), {}, now);
  service.serve(journal(Phase::kDraining));
  now.state.config.sharing = {};
  service.find_neighbours(journal(Phase::kDraining), now);
  EXPECT_TRUE(service.serve(journal(Phase::kDraining)));
  EXPECT_THAT(service.standing({}).neighbours, IsEmpty());
  service.end();
  EXPECT_TRUE(service.serve(std::nullopt));
  EXPECT_EQ(service.standing({}), MigStanding());
}

}  // namespace
}  // namespace tranche::agent::mig_out_of_service_test
