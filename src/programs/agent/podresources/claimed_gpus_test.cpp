#include "agent/podresources/claimed_gpus.h"

#include <gtest/gtest.h>

namespace tranche::agent::claimed_gpus_test {
namespace {

holdings::Holding of_claim(const std::string& claim, const std::string& id,
                           const std::string& uuid) {
  return {.device = uuid, .wire = holdings::Wire::kClaim, .id = id, .claim = claim, .ns = "team"};
}

TEST(ClaimedGpus, ByClaimDeviceAndShare) {
  auto replica = of_claim("", "gpu-0", "GPU-9");
  replica.wire = holdings::Wire::kDevicePlugin;
  const holdings::Holdings held(
      std::vector{of_claim("half", "gpu-0/s", "GPU-1"), of_claim("half", "gpu-0/s", "GPU-1"),
                  of_claim("half", "gpu-1", "GPU-2"), of_claim("due", "mig", ""), replica});
  const auto found = [&](const std::string& claim, const std::string& device,
                         const std::string& share = "", const std::string& ns = "team") {
    return claimed_gpus(held, {ns, claim}, {.device = device, .share_id = share});
  };
  EXPECT_EQ(found("half", "gpu-0", "s"), std::vector<std::string>{"GPU-1"});
  EXPECT_EQ(found("half", "gpu-1"), std::vector<std::string>{"GPU-2"});
  EXPECT_TRUE(found("half", "gpu-0").empty());
  EXPECT_TRUE(found("half", "gpu-0", "s", "other").empty());
  EXPECT_TRUE(found("due", "mig").empty()) << "it is not made yet";
  EXPECT_TRUE(found("", "gpu-0").empty());
}

}  // namespace
}  // namespace tranche::agent::claimed_gpus_test
