#include "dra/claim_conflicts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dra/testing.h"

namespace tranche::dra::claim_conflicts_test {
namespace {

using namespace testing_;  // NOLINT: the words of these tests
using ::testing::HasSubstr;

PreparedClaim prepared(const std::string& uid, const gpu::Machine& machine,
                       std::vector<AllocatedDevice> devices) {
  auto claim = claim_of(std::move(devices));
  auto plan = plan_claim(claim, machine, kFacts).value();
  plan.uid = uid;
  plan.name = uid;
  return plan;
}

TEST(ClaimConflicts, SharesFitUpToTheWholeGpu) {
  const auto machine = test::machine_of({test::l20(0)});
  const auto half = prepared("a", machine, {share("gpu-0", 23034, 50)});
  const auto other = prepared("b", machine, {share("gpu-0", 23034, 50)});
  EXPECT_TRUE(check_conflicts(other, {half}, machine));
  EXPECT_TRUE(check_conflicts(half, {half, other}, machine)) << "the same claim again";
  for (const auto& more : {share("gpu-0", 1, 1), share("gpu-0", 46068, 100)}) {
    const auto third = check_conflicts(prepared("c", machine, {more}), {half, other}, machine);
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(third.error().what, HasSubstr("gpu-0 is held by claim team/"));
  }
}

TEST(ClaimConflicts, AWholeDeviceBelongsToOneClaim) {
  const auto machine = test::machine_of({test::l20(0), test::a100_40gb(1).mig({"1g.5gb"})});
  const std::string instance = "gpu-1-mig-1g5gb-gi1-ci0";
  const auto whole = prepared("a", machine, {allocated("gpu-0"), allocated(instance)});
  for (const auto& device : {allocated("gpu-0"), share("gpu-0", 1, 1), allocated(instance)}) {
    EXPECT_FALSE(check_conflicts(prepared("b", machine, {device}), {whole}, machine))
        << device.device;
  }
  auto admin = allocated("gpu-0");
  admin.admin_access = true;
  const auto monitor = prepared("m", machine, {admin});
  EXPECT_TRUE(check_conflicts(monitor, {whole}, machine));
  EXPECT_TRUE(check_conflicts(whole, {monitor}, machine));
}

TEST(ClaimConflicts, APlaceIsOnItsGpuAndNextToOtherPlaces) {
  const auto machine = cut_machine();
  const auto facts = cut_facts(machine);
  const auto claim = [&](const std::string& uid, const AllocatedDevice& device) {
    auto plan = plan_claim(claim_of({device}), machine, facts).value();
    plan.uid = uid;
    return plan;
  };
  const auto small = claim("a", allocated(kSmall));
  const auto beside = claim("b", allocated("gpu-0-mig-3g40gb-9-4"));
  auto made = beside;
  fill_uuid(made.devices[0], "MIG-7");
  EXPECT_TRUE(check_conflicts(small, {beside}, machine));
  EXPECT_TRUE(check_conflicts(small, {made}, machine));
  EXPECT_TRUE(check_conflicts(small, {claim("c", allocated("gpu-1"))}, machine));
  for (const auto& device :
       {allocated(kSmall), allocated(kLarge), allocated("gpu-0"), share("gpu-0", 1, 1)}) {
    const auto other = claim("c", device);
    EXPECT_FALSE(check_conflicts(small, {other}, machine)) << device.device;
    EXPECT_FALSE(check_conflicts(other, {made, small}, machine)) << device.device;
  }
}

TEST(ClaimConflicts, TwoSharesInOneClaimCountTogether) {
  const auto machine = test::machine_of({test::l20(0)});
  const auto two = prepared("a", machine,
                            {share("gpu-0", 11517, 25),
                             share("gpu-0", 11517, 25, "8d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e0f")});
  EXPECT_TRUE(check_conflicts(two, {prepared("b", machine, {share("gpu-0", 23034, 50)})}, machine));
  EXPECT_FALSE(
      check_conflicts(two, {prepared("b", machine, {share("gpu-0", 23035, 50)})}, machine));
}

// Only who writes the claim's status can do that.
TEST(ClaimConflicts, NoHardwareIsInAClaimTwice) {
  const auto machine = cut_machine();
  const auto facts = cut_facts(machine);
  auto monitor = allocated("gpu-0");
  monitor.admin_access = true;
  for (const auto& second : {allocated("gpu-0"), share("gpu-0", 1, 1), allocated(kLarge)}) {
    const auto refused = plan_claim(claim_of({allocated("gpu-0"), second}), machine, facts);
    ASSERT_FALSE(refused) << second.device;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_THAT(refused.error().message(), HasSubstr("which is the same hardware"));
    EXPECT_TRUE(plan_claim(claim_of({monitor, second}), machine, facts)) << second.device;
  }
  EXPECT_TRUE(
      plan_claim(claim_of({allocated(kSmall), allocated("gpu-0-mig-3g40gb-9-4")}), machine, facts));
  EXPECT_FALSE(plan_claim(claim_of({allocated(kSmall), allocated(kLarge)}), machine, facts));
}

}  // namespace
}  // namespace tranche::dra::claim_conflicts_test
