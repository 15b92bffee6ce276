#include "agent/limits/claim_tenant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::agent::claim_tenant_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ClaimTenant tenant(const std::string& id, const std::string& claim, const std::string& request,
                   const std::string& ns = "shop") {
  return {.id = id,
          .driver = "gpu.nvidia.com",
          .requests = {{ns, claim, request}},
          .limits = {},
          .most = {},
          .devices = {}};
}

// Claim "two" has requests a and b, which containers name each, and both.
cluster::Pod pod() {
  return {.ns = "shop",
          .name = "p",
          .containers = {{.name = "first", .claims = {{"two", "a"}}},
                         {.name = "second", .claims = {{"two", "b"}}},
                         {.name = "third", .claims = {{"two"}, {"other"}}},
                         {.name = "none"}},
          .container_ids = {{"1", "first"}, {"2", "second"}, {"3", "third"}, {"4", "none"}},
          .claims = {{"two", "p-two-x"}, {"other", ""}}};
}

TEST(ClaimUses, GoByTheRequestsThatAContainerNames) {
  const std::vector tenants = {tenant("a", "p-two-x", "a"), tenant("b", "p-two-x", "b"),
                               tenant("c", "p-two-x", "a", "team")};
  EXPECT_THAT(claim_uses({pod()}, {tenants}),
              ElementsAre(ClaimUse{"shop", "p", "first", "claim/two/a", {"a"}},
                          ClaimUse{"shop", "p", "second", "claim/two/b", {"b"}},
                          ClaimUse{"shop", "p", "third", "claim/two", {"a", "b"}}));
}

TEST(ClaimUses, AContainerThatKubeletDidNotStartHasNone) {
  auto waiting = pod();
  waiting.container_ids.clear();
  EXPECT_THAT(claim_uses({waiting}, {{tenant("a", "p-two-x", "a")}}), IsEmpty());
}

TEST(ClaimUses, AClaimOfAnotherDriverHasNone) { EXPECT_THAT(claim_uses({pod()}, {}), IsEmpty()); }

TEST(ClaimUses, OfAClaimThatTheSchedulerMadeAreByTheResource) {
  auto plain = pod();
  plain.extended = {"p-extended-x",
                    {{"first", "nvidia.com/gpu", "container-0-request-0"},
                     {"second", "nvidia.com/gpu", "container-1-request-0"},
                     {"none", "example.com/other", "container-3-request-0"}}};
  const NodeClaims claims{{tenant("a", "p-extended-x", "container-0-request-0")},
                          {{"shop", "p-extended-x", "container-1-request-0"}}};
  EXPECT_THAT(claim_uses({plain}, claims),
              ElementsAre(ClaimUse{"shop", "p", "first", "nvidia.com/gpu", {"a"}},
                          ClaimUse{"shop", "p", "second", "nvidia.com/gpu", {}, true}));
}

TEST(ClaimUses, OneDeviceWithoutLimitsIsTold) {
  const NodeClaims claims{{tenant("a", "p-two-x", "a")}, {{"shop", "p-two-x", "b"}}};
  EXPECT_THAT(claim_uses({pod()}, claims),
              ElementsAre(ClaimUse{"shop", "p", "first", "claim/two/a", {"a"}},
                          ClaimUse{"shop", "p", "second", "claim/two/b", {}, true},
                          ClaimUse{"shop", "p", "third", "claim/two", {"a"}, true}));
}

}  // namespace
}  // namespace tranche::agent::claim_tenant_test
