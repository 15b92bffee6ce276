#include "incidents/incident_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "support/temp_dir.h"

namespace tranche::incidents::incident_files_test {
namespace {

class IncidentFilesTest : public ::testing::Test {
 protected:
  std::filesystem::path folder() const { return dir_.path() / "incidents"; }
  std::string put(const std::string& tenant, int second) {
    Incident incident{.at = cluster::WallTime(std::chrono::seconds(second)),
                      .device = "GPU-1",
                      .tenant = tenant,
                      .holders = {}};
    EXPECT_TRUE(files_.put(incident));
    return incident.id;
  }
  std::size_t of(const std::string& tenant) const {
    std::size_t count = 0;
    const auto ids = files_.ids().value();
    for (const auto& id : ids) {
      count += files_.read(id).value().tenant == tenant ? 1 : 0;
    }
    return count;
  }

  test::TempDir dir_;
  IncidentFiles files_{folder()};
};

TEST_F(IncidentFilesTest, ThereIsNothingBeforeTheFirst) {
  EXPECT_TRUE(files_.ids().value().empty());
  EXPECT_EQ(files_.read("x").error().code, Code::kNotFound);
  EXPECT_EQ(files_.read("../x").error().code, Code::kInvalidArgument);
}

TEST_F(IncidentFilesTest, TwoOfOneSecondAreTwo) {
  const auto first = put("a", 5);
  const auto second = put("b", 5);
  EXPECT_NE(first, second);
  EXPECT_EQ(files_.read(second).value().tenant, "b");
}

TEST_F(IncidentFilesTest, WhoCausesThemWithoutEndPushesOutOnlyItsOwn) {
  const auto quiet = put("quiet", 1);
  for (int i = 0; i < 100; ++i) put("loud", 10 + i);
  EXPECT_EQ(of("loud"), IncidentFiles::kMostOfOne);
  EXPECT_TRUE(files_.has(quiet));
}

TEST_F(IncidentFilesTest, OfManyThoseWhoHaveMostLoseTheirOldest) {
  const auto quiet = put("quiet", 1);
  for (int i = 0; i < 200; ++i) put("loud-" + std::to_string(i % 20), 10 + i);
  EXPECT_LE(files_.ids().value().size(), IncidentFiles::kMost);
  EXPECT_TRUE(files_.has(quiet));
}

TEST_F(IncidentFilesTest, TheNextOneKnowsWhatIsThere) {
  for (int i = 0; i < 20; ++i) put("loud", i);
  files_ = IncidentFiles(folder());
  put("loud", 100);
  EXPECT_EQ(of("loud"), IncidentFiles::kMostOfOne);
}

TEST_F(IncidentFilesTest, ATornFileIsAnErrorAndGoesInItsTurn) {
  put("a", 1);
  std::ofstream(folder() / "20260101-000000-xid.json") << "{";
  EXPECT_FALSE(files_.read("20260101-000000-xid"));
  EXPECT_EQ(files_.ids().value().size(), 2U);
}

}  // namespace
}  // namespace tranche::incidents::incident_files_test
