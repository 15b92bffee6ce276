#include "mig/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::mig::pool_test {
namespace {

using testing::HasSubstr;

TEST(Pools, AreReadWithTheirDefaults) {
  const auto pools = parse_pools(R"(
pools:
- name: a100
  nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB, zone: "1"}
  layout: all-1g.10gb
- name: rest
  nodeSelector: {pool: rest}
  layout: all-balanced
  maxUnavailable: "25%"
  onFailure: rollBack
  rollBackTo: all-disabled
  acceptOutage: true
  timeout: 10m
)",
                                 "pools.yaml");
  ASSERT_TRUE(pools) << pools.error().message();
  const Pool first{
      .name = "a100",
      .node_selector = {{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB"}, {"zone", "1"}},
      .layout = "all-1g.10gb"};
  const Pool second{.name = "rest",
                    .node_selector = {{"pool", "rest"}},
                    .layout = "all-balanced",
                    .max_unavailable = {.number = 25, .percent = true},
                    .on_failure = Pool::OnFailure::kRollBack,
                    .roll_back_to = "all-disabled",
                    .accept_outage = true,
                    .timeout = std::chrono::minutes(10)};
  EXPECT_THAT(*pools, testing::ElementsAre(first, second));
}

TEST(Pools, NoneIsNoErrorWhereItIsSaid) {
  const auto pools = parse_pools("pools: []\n", "f");
  ASSERT_TRUE(pools);
  EXPECT_TRUE(pools->empty());
}

TEST(Pools, ATextThatSaysNothingIsRefused) {
  for (const auto* text : {"", "pools:\n", "# pools:\n# - name: a\n", "---\n", "null", "{}"}) {
    const auto pools = parse_pools(text, "f");
    ASSERT_FALSE(pools) << text;
    EXPECT_EQ(pools.error().message(),
              "f:1: it is empty, so no node gets a layout; begin it with \"pools:\", or remove the "
              "ConfigMap; \"pools: []\" has none");
  }
}

TEST(Pools, AnotherDocumentIsNotReadInSilence) {
  const auto pools = parse_pools("pools: []\n---\npools: []\n", "f");
  ASSERT_FALSE(pools);
  EXPECT_EQ(pools.error().what,
            "f:3: another document begins here, and the first one alone is read; write all pools "
            "into one");
}

TEST(Pools, ErrorsNameTheLine) {
  const struct {
    const char* name;
    const char* text;
    const char* said;
  } cases[] = {
      {"no YAML", "pools: [", "f:"},
      {"something else", "nodes: []", "f:1: it holds something else than pools"},
      {"no list", "pools: {a: b}", "f:1: pools is no list"},
      {"no mapping", "pools: [a]", "name is missing"},
      {"no name", "pools:\n- {layout: a, nodeSelector: {a: b}}", "f:2: name is missing"},
      {"no layout", "pools:\n- {name: a, nodeSelector: {a: b}}", "f:2: layout is missing"},
      {"no selector", "pools:\n- {name: a, layout: b}", "f:2: nodeSelector is missing"},
      {"an empty selector", "pools:\n- {name: a, layout: b, nodeSelector: {}}", "nodeSelector"},
      {"a list as a label", "pools:\n- {name: a, layout: b, nodeSelector: {a: [b]}}", "no text"},
      {"an unknown key", "pools:\n- {name: a, layout: b, nodeSelector: {a: b}, max: 1}",
       "unknown key \"max\""},
      {"twice", "pools:\n- {name: a, name: b, layout: b, nodeSelector: {a: b}}", "there twice"},
      {"two of a name",
       "pools:\n- {name: a, layout: b, nodeSelector: {a: b}}\n"
       "- {name: a, layout: c, nodeSelector: {a: c}}",
       "f:3: two pools are called \"a\""},
      {"nobody away", "pools:\n- {name: a, layout: b, nodeSelector: {a: b}, maxUnavailable: 0}",
       "maxUnavailable"},
      {"more than all",
       "pools:\n- {name: a, layout: b, nodeSelector: {a: b}, maxUnavailable: 101%}",
       "maxUnavailable"},
      {"a word", "pools:\n- {name: a, layout: b, nodeSelector: {a: b}, maxUnavailable: many}",
       "maxUnavailable"},
      {"another failure", "pools:\n- {name: a, layout: b, nodeSelector: {a: b}, onFailure: wait}",
       "neither stop nor rollBack"},
      {"no truth", "pools:\n- {name: a, layout: b, nodeSelector: {a: b}, acceptOutage: 2}",
       "acceptOutage"},
      {"no duration", "pools:\n- {name: a, layout: b, nodeSelector: {a: b}, timeout: 30}",
       "timeout"},
      {"a layout that is no label", "pools:\n- {name: a, layout: \"a b\", nodeSelector: {a: b}}",
       "layout cannot be the value of a label"},
  };
  for (const auto& one : cases) {
    const auto pools = parse_pools(one.text, "f");
    ASSERT_FALSE(pools) << one.name;
    EXPECT_EQ(pools.error().code, Code::kInvalidArgument) << one.name;
    EXPECT_THAT(pools.error().what, HasSubstr(one.said)) << one.name;
  }
}

TEST(Pools, HowManyMayBeAway) {
  const struct {
    Pool::Budget budget;
    std::size_t nodes;
    std::size_t away;
  } cases[] = {{{1, false}, 8, 1}, {{3, false}, 8, 3},  {{25, true}, 8, 2}, {{25, true}, 7, 1},
               {{25, true}, 2, 1}, {{100, true}, 5, 5}, {{10, true}, 0, 1}};
  for (const auto& one : cases) {
    EXPECT_EQ(allowed_away(one.budget, one.nodes), one.away) << one.budget.number << one.nodes;
  }
}

}  // namespace
}  // namespace tranche::mig::pool_test
