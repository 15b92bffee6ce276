#include "agent/dra/drain_condition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::agent::drain_condition_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kDriver = "gpu.nvidia.com";

dra::PreparedClaim claim(const char* name, const char* driver) {
  return {.ns = "team", .name = name, .uid = name, .boot = "b", .driver = driver};
}

TEST(DrainCondition, NamesTheClaimsThatNobodyWasToldToServe) {
  const std::vector claims = {claim("new", kDriver), claim("unnamed", ""), claim("old", "old.com")};
  EXPECT_THAT(drivers_of(claims, kDriver), ElementsAre(kDriver, "old.com"));

  const auto off = drain_condition(claims, {}, {.driver = kDriver, .serves = Serves::kNo});
  EXPECT_FALSE(off.good);
  EXPECT_EQ(off.reason, "ClaimsDraining");
  EXPECT_THAT(off.message, HasSubstr("this agent takes none"));
  EXPECT_THAT(off.message, HasSubstr("team/unnamed (gpu.nvidia.com), team/old (old.com)"));

  const auto renamed = drain_condition(claims, {}, {.driver = kDriver, .serves = Serves::kYes});
  EXPECT_FALSE(renamed.good);
  EXPECT_THAT(renamed.message, HasSubstr("team/old (old.com)"));
  EXPECT_THAT(renamed.message, Not(HasSubstr("team/new")));
}

TEST(DrainCondition, IsGoodWithoutThem) {
  EXPECT_TRUE(drain_condition({}, {}, {.driver = kDriver, .serves = Serves::kNo}).good);
  const std::vector claims = {claim("new", kDriver), claim("unnamed", "")};
  EXPECT_TRUE(drain_condition(claims, {}, {.driver = kDriver, .serves = Serves::kYes}).good);
}

TEST(DrainCondition, ARecordThatCannotBeReadIsSaidFirst) {
  const auto report = drain_condition({claim("old", "old.com")}, {"some-uid"},
                                      {.driver = kDriver, .serves = Serves::kYes});
  EXPECT_EQ(report.reason, "ClaimsUnreadable");
  EXPECT_THAT(report.message, HasSubstr("some-uid"));
}

}  // namespace
}  // namespace tranche::agent::drain_condition_test
