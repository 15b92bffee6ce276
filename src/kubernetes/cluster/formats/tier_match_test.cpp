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
  TierMap by_name;
  for (const auto& one : tiers) by_name[one.name] = one;
  const auto* const found = tier_of(by_name, question);
  return found == nullptr ? "" : found->name;
}

const StringMap kPool = {{"pool", "small"}};
const LabelSelector kInPool{.match_labels = kPool};

const TierPlace kSomewhere{};

TierQuestion of(std::string_view resource, std::string_view mechanism) {
  return {.resource = resource, .mechanism = mechanism, .place = kSomewhere};
}

TEST(TierMatch, ByMechanismAndResource) {
  const std::vector tiers = {tier("whole", ExclusiveTier{}), tier("cut", TimeSlicingTier{4}),
                             tier("mps", MpsTier{4}), tier("mig", MigTier{"1g.10gb+me"})};
  EXPECT_EQ(answer(tiers, of("nvidia.com/gpu", "exclusive")), "whole");
  EXPECT_EQ(answer(tiers, of("nvidia.com/gpu.shared", "time-slicing")), "cut");
  EXPECT_EQ(answer(tiers, of("nvidia.com/gpu.shared", "mps")), "mps");
  EXPECT_EQ(answer(tiers, of("nvidia.com/gpu.shared", "")), "") << "the mechanism is unknown";
  EXPECT_EQ(answer(tiers, of("nvidia.com/mig-1g.10gb.me", "mig")), "mig");
  EXPECT_EQ(answer(tiers, of("nvidia.com/mig-1g.10gb", "mig")), "");
  EXPECT_EQ(answer(tiers, of("nvidia.com/gpu", "time-slicing")), "");
  EXPECT_EQ(answer({}, of("nvidia.com/gpu", "exclusive")), "");
}

TEST(TierMatch, ATiersOwnResource) {
  auto renamed = tier("cut", TimeSlicingTier{4});
  renamed.resource = "nvidia.com/gpu";
  EXPECT_EQ(answer({renamed}, of("nvidia.com/gpu", "time-slicing")), "cut");
}

TEST(TierMatch, ByModelAndNode) {
  const std::vector tiers = {tier("t4", ExclusiveTier{}, {"Tesla-T4"}),
                             tier("pool", ExclusiveTier{}, {}, kInPool)};
  auto question = of("nvidia.com/gpu", "exclusive");
  question.place = TierPlace{.model = "Tesla-T4"};
  EXPECT_EQ(answer(tiers, question), "t4") << "whether the node is in the pool is unknown";
  question.place->node_labels = &kPool;
  EXPECT_EQ(answer(tiers, question), "") << "both";
  question.place->model = "NVIDIA-L20";
  EXPECT_EQ(answer(tiers, question), "pool");
}

TEST(TierMatch, AModelIsTheSameWithTheLabelsSuffixes) {
  auto cut = tier("cut", TimeSlicingTier{4}, {"Tesla-T4-SHARED"});
  auto question = of("nvidia.com/gpu.shared", "time-slicing");
  question.place = TierPlace{.model = "Tesla-T4"};
  EXPECT_EQ(answer({cut}, question), "cut");
  question.place->model = "Tesla-T4-SHARED";
  cut.eligibility.models = {"Tesla-T4"};
  EXPECT_EQ(answer({cut}, question), "cut");
  EXPECT_EQ(plain_model("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb-SHARED"), "NVIDIA-A100-SXM4-80GB");
  EXPECT_EQ(plain_model(""), "");
}

TEST(TierMatch, OfSeveralTheOneThatAdmitsTheNamespace) {
  auto labelled = tier("b", ExclusiveTier{});
  labelled.namespaces.selector = kInPool;
  const std::vector tiers = {tier("a", ExclusiveTier{}), labelled};
  auto question = of("nvidia.com/gpu", "exclusive");
  EXPECT_EQ(answer(tiers, question), "") << "tranches that nobody has are of both";
  question.ns = "of-a";
  EXPECT_EQ(answer(tiers, question), "a");
  question.ns = "other";
  EXPECT_EQ(answer(tiers, question), "");
  question.namespace_labels = &kPool;
  EXPECT_EQ(answer(tiers, question), "b");
  EXPECT_EQ(answer({tiers[0]}, question), "a") << "the only one; whether it may is not asked";
}

TEST(TierMatch, ThenTheOneOfThePriorityClass) {
  auto urgent = tier("a", ExclusiveTier{});
  urgent.priority_class = "urgent";
  auto rest = tier("b", ExclusiveTier{});
  rest.namespaces.names = {"of-a"};
  rest.priority_class = "rest";
  auto question = of("nvidia.com/gpu", "exclusive");
  question.ns = "of-a";
  EXPECT_EQ(answer({urgent, rest}, question), "") << "the class is unknown";
  question.priority_class = "rest";
  EXPECT_EQ(answer({urgent, rest}, question), "b");
  EXPECT_EQ(answer({urgent}, question), "a") << "it is there";
}

TEST(TierMatch, APodWithoutANodeIsOfATierThatAdmitsIt) {
  const std::vector tiers = {tier("a", ExclusiveTier{}, {"Tesla-T4"})};
  TierQuestion question{.resource = "nvidia.com/gpu", .mechanism = "", .ns = "of-a"};
  EXPECT_EQ(answer(tiers, question), "a");
  question.ns = "other";
  EXPECT_EQ(answer(tiers, question), "");
}

}  // namespace
}  // namespace tranche::cluster::tier_match_test
