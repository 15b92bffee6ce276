#include "config/config.h"

#include <gtest/gtest.h>

namespace tranche::config::config_test {
namespace {

ReplicatedResources shared(int replicas) {
  return {.resources = {{.name = {"nvidia.com/gpu"}, .replicas = replicas}}};
}

TEST(ResourceName, BaseIsWhatFollowsThePrefix) {
  EXPECT_EQ(ResourceName{"nvidia.com/gpu.shared"}.base(), "gpu.shared");
}

TEST(ReplicatedResource, IsAdvertisedUnderItsRename) {
  ReplicatedResource resource{.name = {"nvidia.com/gpu"}};
  EXPECT_EQ(resource.advertised().value, "nvidia.com/gpu");
  resource.rename = ResourceName{"nvidia.com/gpu.shared"};
  EXPECT_EQ(resource.advertised().value, "nvidia.com/gpu.shared");
}

struct StrategyCase {
  const char* name;
  std::optional<ReplicatedResources> time_slicing;
  std::optional<ReplicatedResources> mps;
  SharingStrategy expected;
};

void PrintTo(const StrategyCase& c, std::ostream* out) { *out << c.name; }

class Strategy : public testing::TestWithParam<StrategyCase> {};

TEST_P(Strategy, IsOfTheListInForce) {
  const Sharing sharing{GetParam().time_slicing, GetParam().mps};
  EXPECT_EQ(sharing.strategy(), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Lists, Strategy,
    testing::Values(StrategyCase{"nothing", {}, {}, SharingStrategy::kNone},
                    StrategyCase{"time_slicing", shared(2), {}, SharingStrategy::kTimeSlicing},
                    StrategyCase{"one_replica", shared(1), {}, SharingStrategy::kNone},
                    StrategyCase{"mps", {}, shared(2), SharingStrategy::kMps},
                    StrategyCase{"both_mps_wins", shared(4), shared(2), SharingStrategy::kMps},
                    StrategyCase{"both_mps_unshared", shared(4), shared(1),
                                 SharingStrategy::kNone}),
    [](const auto& test) { return std::string(test.param.name); });

struct PatternCase {
  const char* pattern;
  const char* text;
  bool matches;
};

class Pattern : public testing::TestWithParam<PatternCase> {};

TEST_P(Pattern, Matches) {
  EXPECT_EQ(matches_pattern(GetParam().pattern, GetParam().text), GetParam().matches);
}

INSTANTIATE_TEST_SUITE_P(Wildcards, Pattern,
                         testing::Values(PatternCase{"*", "Tesla T4", true},
                                         PatternCase{"*", "", true}, PatternCase{"", "", true},
                                         PatternCase{"", "x", false},
                                         PatternCase{"Tesla T4", "Tesla T4", true},
                                         PatternCase{"Tesla", "Tesla T4", false},  // anchored
                                         PatternCase{"T4", "Tesla T4", false},
                                         PatternCase{"*T4", "Tesla T4", true},
                                         PatternCase{"*A100*", "NVIDIA A100-SXM4-40GB", true},
                                         PatternCase{"*A100*80GB", "NVIDIA A100-SXM4-40GB", false},
                                         PatternCase{"1g.5gb", "1gx5gb", false},  // a dot is a dot
                                         PatternCase{"1g.5gb*", "1g.5gb+me", true},
                                         PatternCase{"*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaa", false},
                                         PatternCase{"**", "x", true}));

}  // namespace
}  // namespace tranche::config::config_test
