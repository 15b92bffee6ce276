#include "agent/dra/claim_cuts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/dra/testing.h"
#include "cluster/formats/mig_change.h"

namespace tranche::agent::claim_cuts_test {
namespace {

using cut_node_testing::CutNode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

const Result<cluster::Node> kNode = cluster::Node();

TEST(ClaimCutsTest, NothingIsKnownBeforeTheNodeAndTheHardware) {
  const CutNode node;
  ClaimCuts cuts(true);
  EXPECT_TRUE(cuts.look_again());
  EXPECT_EQ(cuts.cut(node.machine, kNode), std::nullopt);
  EXPECT_TRUE(cuts.found({}));
  EXPECT_FALSE(cuts.found({})) << "no news";
  EXPECT_FALSE(cuts.look_again());
  EXPECT_EQ(cuts.cut(node.machine, fail(Code::kUnavailable, "away")), std::nullopt);
  EXPECT_THAT(cuts.cut(node.machine, kNode), Optional(ElementsAre(node.uuid(0), node.uuid(1))));
}

TEST(ClaimCutsTest, WhatALayoutOrSomebodyElseCutsIsTheirs) {
  const CutNode node;
  ClaimCuts cuts(true);
  EXPECT_TRUE(cuts.found({node.uuid(1)}));
  EXPECT_TRUE(cuts.look_again());
  EXPECT_THAT(cuts.cut(node.machine, kNode), Optional(ElementsAre(node.uuid(0))));
  cluster::Node with_layout;
  with_layout.labels[cluster::kMigConfigLabel] = "all-1g.10gb";
  EXPECT_THAT(cuts.cut(node.machine, with_layout), Optional(IsEmpty()));
  with_layout.labels[cluster::kMigConfigLabel] = "all-disabled";  // NVIDIA's operator on all Nodes
  EXPECT_THAT(cuts.cut(node.machine, with_layout), Optional(ElementsAre(node.uuid(0))));
}

TEST(ClaimCutsTest, OnlyWhereItIsWantedAndNeedsNoReset) {
  CutNode ampere("a100-80gb");
  ClaimCuts cuts(true);
  cuts.found({});
  EXPECT_THAT(cuts.cut(ampere.machine, kNode), Optional(IsEmpty()));
  ampere.control.set_state(ampere.uuid(0), {.enabled = true, .pending = true});
  EXPECT_THAT(cuts.cut(ampere.read(), kNode), Optional(ElementsAre(ampere.uuid(0))));
  const ClaimCuts unwanted(false);
  EXPECT_FALSE(unwanted.look_again());
  EXPECT_THAT(unwanted.cut(ampere.read(), kNode), Optional(IsEmpty()));
}

}  // namespace
}  // namespace tranche::agent::claim_cuts_test
