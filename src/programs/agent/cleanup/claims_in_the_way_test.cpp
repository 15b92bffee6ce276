#include "agent/cleanup/claims_in_the_way.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"
#include "cluster/kinds.h"
#include "dra/prepared.h"
#include "support/fake_objects.h"
#include "support/temp_dir.h"

namespace tranche::agent::claims_in_the_way_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kUid = "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a";

class ClaimsInTheWayTest : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& driver, const std::string& pool,
           const std::string& pod) {
    const auto users =
        pod.empty() ? pod : R"({"resource": "pods", "uid": "u", "name": ")" + pod + R"("})";
    objects_.put(cluster::kResourceClaim,
                 R"({"metadata": {"namespace": "team", "uid": "u", "name": ")" + name +
                     R"("}, "status": {"reservedFor": [)" + users +
                     R"(], "allocation": {"devices": {"results": [{"request": "gpu", "driver": ")" +
                     driver + R"(", "pool": ")" + pool + R"(", "device": "gpu-0"}]}}}})");
  }
  Result<void> check() { return check_claims_of(objects_, {"n1", "n2"}, {}); }

  test::FakeObjects objects_;
  test::TempDir dir_;
};

TEST_F(ClaimsInTheWayTest, NamesClaimsNodesAndPodsUnderEveryNameOfTheDriver) {
  put("half", "gpu.nvidia.com", "gpu-n1", "train");
  put("other", "gpu.example.com", "gpu-n2/gpu.example.com", "serve");
  put("before", "gpu.example.com", "gpu-n2", "old");
  const auto checked = check();
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message(), HasSubstr("team/half on n1 (of train)"));
  EXPECT_THAT(checked.error().message(), HasSubstr("team/other on n2 (of serve)"));
  EXPECT_THAT(checked.error().message(), HasSubstr("team/before on n2 (of old)"));
  EXPECT_THAT(checked.error().message(), HasSubstr("cleanup.force=true"));
}

TEST_F(ClaimsInTheWayTest, OthersClaimsAndThoseWithoutAPodAreNotInTheWay) {
  put("nvidias", "gpu.nvidia.com", "n1", "train");
  put("elsewhere", "gpu.nvidia.com", "gpu-n3", "train");
  put("nobodys", "gpu.nvidia.com", "gpu-n1", "");
  EXPECT_TRUE(check());
}

TEST_F(ClaimsInTheWayTest, WhatIsNotKnownStops) {
  objects_.refuse("list", cluster::kResourceClaim, {Code::kUnavailable, "away", ""});
  const auto checked = check();
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message(), HasSubstr("which claims are in use is not known"));
}

TEST_F(ClaimsInTheWayTest, OnANodeTheRecordsOfThisBootAreInTheWay) {
  EXPECT_TRUE(check_claims_here(dir_.path(), "boot-1")) << "no claim was ever prepared";
  const auto file = dir_.path() / "claims" / (std::string(kUid) + ".json");
  const dra::PreparedClaim claim{.ns = "team", .name = "half", .uid = kUid, .boot = "boot-1"};
  ASSERT_TRUE(FsRoot().make_directories(file.parent_path()));
  ASSERT_TRUE(FsRoot().write_atomic(file, dra::encode(claim)));
  const auto checked = check_claims_here(dir_.path(), "boot-1");
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message(), HasSubstr("team/half"));
  EXPECT_TRUE(check_claims_here(dir_.path(), "boot-2")) << "its containers are gone";
  ASSERT_TRUE(FsRoot().write_atomic(file, "torn"));
  const auto torn = check_claims_here(dir_.path(), "boot-2");
  ASSERT_FALSE(torn);
  EXPECT_THAT(torn.error().message(), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace tranche::agent::claims_in_the_way_test
