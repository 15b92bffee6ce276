#include "cluster/formats/reasons.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ranges>
#include <set>

#include "base/fs.h"

namespace tranche::cluster::reasons_test {
namespace {

TEST(Reasons, ThePageIsAsCommitted) {
  const auto path = std::filesystem::current_path() / "docs/reference/events.md";
  const auto committed = FsRoot().read(path);
  ASSERT_TRUE(committed) << committed.error().what;
  EXPECT_EQ(render_reasons(), *committed)
      << "write the pages anew with: build/bin/tranche reference docs/reference";
}

TEST(Reasons, AConstantIsItsName) {
  EXPECT_STREQ(condition::kTrancheConfigured, "TrancheConfigured");
  EXPECT_STREQ(reason::kConfigRefused, "ConfigRefused");
  EXPECT_STREQ(reason::kResourceWithheld, "ResourceWithheld");
}

TEST(Reasons, EveryConditionOfOursIsTrancheSomething) {
  // The chart's admission policy only lets agents write conditions with such names.
  for (const auto& row : condition_table())
    EXPECT_TRUE(row.type.starts_with("Tranche")) << row.type;
}

TEST(Reasons, EveryConditionHasAReasonForTrueAndOneForFalse) {
  for (const auto& condition : condition_table()) {
    std::set<std::string_view> statuses;
    for (const auto& row : condition_reason_table()) {
      if (row.condition == condition.type) statuses.insert(row.status);
    }
    EXPECT_TRUE(statuses.contains("True") && statuses.contains("False")) << condition.type;
  }
}

TEST(Reasons, MeaningsStandInOneLine) {
  std::vector<std::string_view> texts;
  for (const auto& row : condition_table()) texts.push_back(row.meaning);
  for (const auto& row : condition_reason_table()) texts.push_back(row.meaning);
  for (const auto& row : event_table()) texts.push_back(row.meaning);
  for (const auto text : texts) {
    EXPECT_FALSE(text.empty());
    EXPECT_FALSE(text.contains('\n')) << text;
  }
}

}  // namespace
}  // namespace tranche::cluster::reasons_test
