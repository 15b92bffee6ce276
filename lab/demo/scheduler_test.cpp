#include "lab/demo/scheduler.h"

#include <gtest/gtest.h>

#include <vector>

namespace tranche::demo::scheduler_test {
namespace {

struct Case {
  const char* name;
  std::vector<NodeRoom> nodes;
  int count;
  std::optional<std::size_t> node;
};

TEST(FirstFit, TakesTheFirstNodeWithRoom) {
  const std::vector<Case> cases = {
      {"both empty: the first", {{1, 0}, {1, 0}}, 1, 0},
      {"first is full", {{1, 1}, {1, 0}}, 1, 1},
      {"all are full", {{1, 1}, {1, 1}}, 1, std::nullopt},
      {"a request is never split over nodes", {{2, 1}, {2, 1}}, 2, std::nullopt},
      {"the last device counts", {{8, 8}, {3, 2}}, 1, 1},
      {"more held than allocatable, after a loss", {{0, 1}, {1, 0}}, 1, 1},
      {"no nodes", {}, 1, std::nullopt},
  };
  for (const auto& test : cases) {
    const auto decision = first_fit(test.nodes, "nvidia.com/gpu", test.count);
    EXPECT_EQ(decision.node, test.node) << test.name;
    EXPECT_EQ(decision.message.empty(), decision.node.has_value()) << test.name;
  }
}

TEST(FirstFit, SaysWhyInTheSchedulersWords) {
  const std::vector<NodeRoom> nodes = {{1, 1}, {1, 1}};
  EXPECT_EQ(first_fit(nodes, "nvidia.com/gpu", 1).message,
            "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.");
}

}  // namespace
}  // namespace tranche::demo::scheduler_test
