#include "cluster/formats/tier_match.h"

#include <gtest/gtest.h>

namespace tranche::cluster::tier_match_test {
namespace {

GpuTier tier(const std::string& name, TierMechanism mechanism, std::vector<std::string> models = {},
             std::optional<LabelSelector> nodes = {}) {
  return {.name = name,
          .eligibility = {.node_selector = std::move(nodes), .models = std::move(models)},
          .mechanism = std::move(mechanism),
          .namespaces = {.names = {"of-" + name}}};
}

std::string answer(const std::vector<GpuTier>& tiers, const TierQuestion& question) {
  const auto* const found = tier_of(tiers, question);
  return found == nullptr ? "" : found->name;
}

const StringMap kPool = {{"pool", "small"}};
const LabelSelector kInPool{.match_labels = kPool};

TEST(TierMatch, ByMechanismAndResource) {
  const std::vector tiers = {tier("whole", ExclusiveTier{}), tier("cut", TimeSlicingTier{4}),
                             tier("mps", MpsTier{4}), tier("mig", MigTier{"1g.10gb+me"})};
  EXPECT_EQ(answer(tiers, {.resource = "nvidia.com/gpu", .mechanism = "exclusive"}), "whole");
  EXPECT_EQ(answer(tiers, {.resource = "nvidia.com/gpu.shared", .mechanism = "time-slicing"}),
            "cut");
  EXPECT_EQ(answer(tiers, {.resource = "nvidia.com/gpu.shared", .mechanism = "mps"}), "mps");
  EXPECT_EQ(answer(tiers, {.resource = "nvidia.com/mig-1g.10gb.me", .mechanism = "mig"}), "mig");
  EXPECT_EQ(answer(tiers, {.resource = "nvidia.com/mig-1g.10gb", .mechanism = "mig"}), "");
  EXPECT_EQ(answer(tiers, {.resource = "nvidia.com/gpu", .mechanism = "time-slicing"}), "");
  EXPECT_EQ(answer({}, {.resource = "nvidia.com/gpu", .mechanism = "exclusive"}), "");
}

TEST(TierMatch, ATiersOwnResource) {
  auto renamed = tier("cut", TimeSlicingTier{4});
  renamed.resource = "nvidia.com/gpu";
  EXPECT_EQ(answer({renamed}, {.resource = "nvidia.com/gpu", .mechanism = "time-slicing"}), "cut");
}

TEST(TierMatch, ByModelAndNode) {
  const std::vector tiers = {tier("t4", ExclusiveTier{}, {"Tesla-T4"}),
                             tier("pool", ExclusiveTier{}, {}, kInPool)};
  TierQuestion question{
      .model = "Tesla-T4", .resource = "nvidia.com/gpu", .mechanism = "exclusive"};
  EXPECT_EQ(answer(tiers, question), "t4") << "whether the node is in the pool is unknown";
  question.node_labels = &kPool;
  EXPECT_EQ(answer(tiers, question), "") << "both";
  question.model = "NVIDIA-L20";
  EXPECT_EQ(answer(tiers, question), "pool");
}

TEST(TierMatch, OfSeveralTheOneThatAdmitsTheNamespace) {
  auto labelled = tier("b", ExclusiveTier{});
  labelled.namespaces.selector = kInPool;
  const std::vector tiers = {tier("a", ExclusiveTier{}), labelled};
  TierQuestion question{.resource = "nvidia.com/gpu", .mechanism = "exclusive", .ns = "of-a"};
  EXPECT_EQ(answer(tiers, question), "a");
  question.ns = "other";
  EXPECT_EQ(answer(tiers, question), "");
  question.namespace_labels = &kPool;
  EXPECT_EQ(answer(tiers, question), "b");
  EXPECT_EQ(answer({tiers[0]}, question), "a") << "the only one; whether it may is not asked";
}

}  // namespace
}  // namespace tranche::cluster::tier_match_test
