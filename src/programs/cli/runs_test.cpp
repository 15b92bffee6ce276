#include "cli/runs.h"

#include <gtest/gtest.h>

namespace tranche::cli::runs_test {
namespace {

TEST(Runs, EveryCommandAndPartHasOne) {
  for (const auto& command : commands()) EXPECT_NE(run_of(command), nullptr) << command.name;
  for (const auto& part : parts()) EXPECT_NE(run_of(part), nullptr) << part.name;
}

TEST(Runs, NothingElseHasOne) { EXPECT_EQ(run_of({.name = "no", .summary = ""}), nullptr); }

TEST(Runs, PartsSayThatTheyAre) {
  for (const auto& command : commands()) EXPECT_FALSE(command.is_part) << command.name;
  for (const auto& part : parts()) EXPECT_TRUE(part.is_part) << part.name;
}

}  // namespace
}  // namespace tranche::cli::runs_test
