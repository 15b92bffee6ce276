#include "dra/joint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::dra::joint_test {
namespace {

constexpr const char* kPod = "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b00";

std::string uuid(int number) { return fmt::format("0b51bcc7-6a6c-4c0f-9e0e-{:012}", number); }

PreparedDevice share(int id, const char* request = "gpu", const char* gpu = "GPU-a") {
  return {.request = request,
          .pool = "gpu-n1",
          .device = "gpu-0",
          .share_id = uuid(id),
          .uuid = gpu,
          .part = ConsumedPart{Bytes::from_mib(1000), 20},
          .limits = GrantLimits{
              .enforcement = Enforcement::kStrict,
              .devices = {
                  {.uuid = gpu, .memory = Bytes::from_mib(1000), .weight = 200, .permille = 200}}}};
}

PreparedClaim claim(int number, std::vector<PreparedDevice> devices) {
  return {.ns = "team",
          .name = fmt::format("p-c{}", number),
          .uid = uuid(100 + number),
          .boot = "boot",
          .devices = std::move(devices),
          .pod = kPod};
}

// Claims c1 and c2 were made for the Pod.
cluster::Pod pod(std::vector<cluster::PodContainer> containers) {
  return {.ns = "team",
          .name = "p",
          .uid = kPod,
          .containers = std::move(containers),
          .claims = {{"one", "p-c1", "t"}, {"two", "p-c2", "t"}}};
}

std::string joined(PreparedClaim second, const PreparedClaim& first, const cluster::Pod& of) {
  EXPECT_TRUE(may_join(second, {first}));
  join_shares(second, {first}, of);
  return second.devices.back().joined;
}

TEST(JoinShares, TwoClaimsOfOneContainer) {
  const auto first = claim(1, {share(1)});
  EXPECT_EQ(
      joined(claim(2, {share(2)}), first, pod({{.name = "main", .claims = {{"one"}, {"two"}}}})),
      uuid(1));
  EXPECT_EQ(joined(claim(2, {share(2)}), first,
                   pod({{.name = "main", .claims = {{"one", "gpu"}, {"two"}}},
                        {.name = "both", .claims = {{"two"}, {"one"}}},
                        {.name = "none"}})),
            uuid(1));
}

TEST(JoinShares, AContainerNeverGetsAnothersShare) {
  const auto first = claim(1, {share(1)});
  const std::vector<cluster::PodContainer> apart[] = {
      {{.name = "a", .claims = {{"one"}}}, {.name = "b", .claims = {{"two"}}}},
      {{.name = "a", .claims = {{"one"}}}, {.name = "b", .claims = {{"one"}, {"two"}}}},
      {{.name = "a", .claims = {{"one"}, {"two"}}},
       {.name = "init", .init = true, .claims = {{"two"}}}},
      {{.name = "a", .claims = {{"one", "other"}, {"two"}}}},
      {{.name = "nobody"}}};
  for (const auto& containers : apart) {
    EXPECT_EQ(joined(claim(2, {share(2)}), first, pod(containers)), "") << containers.size();
  }
}

TEST(JoinShares, AClaimOpenToOtherPodsStaysSeparate) {
  auto shared = pod({{.name = "main", .claims = {{"one"}, {"two"}}}});
  shared.claims[0].claim_template.clear();
  EXPECT_EQ(joined(claim(2, {share(2)}), claim(1, {share(1)}), shared), "");
  auto other = pod({{.name = "main", .claims = {{"one"}, {"two"}}}});
  other.uid = uuid(77);
  EXPECT_EQ(joined(claim(2, {share(2)}), claim(1, {share(1)}), other), "") << "another Pod";
}

TEST(JoinShares, SharesThatCannotJoinNeedNoPod) {
  const auto first = claim(1, {share(1)});
  EXPECT_FALSE(may_join(claim(2, {share(2, "gpu", "GPU-b")}), {first})) << "another GPU";
  EXPECT_FALSE(may_join(claim(2, {share(2)}), {}));
  auto whole = share(2);
  whole.part.reset();
  EXPECT_FALSE(may_join(claim(2, {whole}), {first}));
  auto other = claim(2, {share(2)});
  other.pod = uuid(77);
  EXPECT_FALSE(may_join(other, {first}));
  other.pod.clear();
  EXPECT_FALSE(may_join(other, {first})) << "reserved for several";
}

TEST(JoinShares, RequestsOfOneClaim) {
  const auto both = claim(1, {share(1, "a"), share(2, "b"), share(3, "c", "GPU-b")});
  ASSERT_TRUE(may_join(both, {}));
  auto together = both;
  join_shares(together, {}, pod({{.name = "main", .claims = {{"one"}}}}));
  EXPECT_EQ(together.devices[0].joined, "");
  EXPECT_EQ(together.devices[1].joined, uuid(1));
  EXPECT_EQ(together.devices[2].joined, "") << "of another GPU";
  auto apart = both;
  join_shares(apart, {},
              pod({{.name = "x", .claims = {{"one", "a"}}},
                   {.name = "y", .claims = {{"one", "b"}, {"one", "c"}}}}));
  EXPECT_EQ(apart, both);
}

TEST(JointLimits, AreTheSumOfThePresentShares) {
  auto first = claim(1, {share(1)});
  auto second = claim(2, {share(2)});
  second.devices[0].joined = uuid(1);
  EXPECT_TRUE(have_a_tenant_together(first, second));
  EXPECT_FALSE(have_a_tenant_together(first, claim(3, {share(3)})));
  const auto both = joint_limits(uuid(1), {first, second, claim(3, {share(3)})});
  ASSERT_EQ(both.devices.size(), 1U);
  EXPECT_EQ(both.enforcement, Enforcement::kStrict);
  EXPECT_EQ(both.devices[0].memory, Bytes::from_mib(2000));
  EXPECT_EQ(both.devices[0].permille, 400U);
  EXPECT_EQ(both.devices[0].weight, 400U);
  EXPECT_EQ(joint_limits(uuid(1), {second}), *second.devices[0].limits) << "the other has ended";
  EXPECT_TRUE(joint_limits(uuid(1), {}).devices.empty());
  EXPECT_TRUE(joint_limits(uuid(2), {first, second}).devices.empty());
}

TEST(JointLimits, AllOfTheTimeIsNoCap) {
  DeviceLimits sum{.uuid = "GPU-a", .memory = Bytes{1}, .weight = 600, .permille = 600};
  add_part(sum, {.uuid = "GPU-a", .memory = {}, .weight = 400, .permille = 400});
  EXPECT_EQ(sum.permille, std::nullopt);
  EXPECT_EQ(sum.weight, 1000U);
  EXPECT_EQ(sum.memory, std::nullopt) << "one of them has no limit";
}

}  // namespace
}  // namespace tranche::dra::joint_test
