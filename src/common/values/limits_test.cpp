#include "values/limits.h"

#include <gtest/gtest.h>

namespace tranche::limits_test {
namespace {

TEST(LimitValues, WordsAreReadBack) {
  for (const auto word : {"off", "account", "strict", "elastic"}) {
    EXPECT_EQ(to_string(enforcement_of(word).value()), word);
  }
  for (const auto word : {"latency-critical", "normal", "best-effort"}) {
    EXPECT_EQ(to_string(priority_of(word).value()), word);
  }
  for (const auto word : {"limiter", "mps", "kernel", "mig"}) {
    EXPECT_EQ(to_string(memory_enforcer_of(word).value()), word);
  }
  EXPECT_EQ(memory_enforcer_of("driver"), std::nullopt);
  EXPECT_EQ(enforcement_of("hard"), std::nullopt);
  EXPECT_EQ(priority_of(""), std::nullopt);
}

TEST(LimitValues, APartIsEnforcedOrIsNone) {
  GrantLimits limits{.enforcement = Enforcement::kStrict, .devices = {{.uuid = "GPU-a"}}};
  EXPECT_EQ(enforced_part(limits, "GPU-a"), limits.devices[0]);
  EXPECT_EQ(enforced_part(limits, "GPU-b"), std::nullopt);
  limits.enforcement = Enforcement::kAccount;
  EXPECT_EQ(enforced_part(limits, "GPU-a"), std::nullopt);
}

}  // namespace
}  // namespace tranche::limits_test
