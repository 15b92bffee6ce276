#include "lab/demo/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::demo::summary_test {
namespace {

TEST(Summary, AddsUpTheNodes) {
  const Summary summary{
      .nodes = {{.node = "a", .gpu = "L20", .before = 1, .any = 2, .sized = 8},
                {.node = "b", .gpu = "T4", .before = 1, .any = 2, .sized = 3}},
      .running_before = 2,
      .running_after = 11,
      .pending_before = 1,
      .pending_after = 0,
  };
  EXPECT_THAT(
      summary_lines(summary),
      testing::ElementsAre("node           simulated GPU   before   key any   keys l20, t4",
                           "a              L20                  1         2              8",
                           "b              T4                   1         2              3",
                           "total                               2         4             11",
                           "Pods running                        2                       11",
                           "Pods Pending                        1                        0"));
}

TEST(Summary, WithoutNodesTheTotalIsNothing) {
  const auto lines = summary_lines({});
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[1], testing::MatchesRegex("total +0 +0 +0"));
}

}  // namespace
}  // namespace tranche::demo::summary_test
