#include "agent/limits/limit_setting_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::agent::limit_setting_rules_test {
namespace {

using testing::HasSubstr;

offer::ResourceOffer resource(config::SharePolicy policy = config::SharePolicy::kTimeSlice,
                              Bytes memory = Bytes::from_mib(1000)) {
  offer::ResourceOffer resource;
  resource.name = {"nvidia.com/gpu"};
  resource.devices = {{.uuid = "GPU-a", .memory = memory}};
  resource.limits =
      offer::OfferLimits{{.enforcement = Enforcement::kStrict, .policy = policy}, {4}};
  return resource;
}

limit::TenantLimits promised() {
  return {.id = "t",
          .resource = "nvidia.com/gpu",
          .enforcement = Enforcement::kStrict,
          .devices = {
              {.uuid = "GPU-a", .memory = Bytes::from_mib(250), .weight = 250, .permille = 250}}};
}

cluster::LimitSetting setting(std::string memory, std::string compute = "",
                              std::string priority = "") {
  return {.resource = "nvidia.com/gpu",
          .memory = std::move(memory),
          .compute = std::move(compute),
          .priority = std::move(priority)};
}

DeviceLimits set(const cluster::LimitSetting& wanted, const PromisedElsewhere& others = {}) {
  const auto limits = with_setting(promised(), wanted, resource(), {{"GPU-a", others}});
  EXPECT_TRUE(limits) << limits.error().message();
  return limits ? limits->devices.at(0) : DeviceLimits();
}

TEST(WithSetting, MemoryAndComputeAsTheyAreWritten) {
  EXPECT_EQ(set(setting("100Mi")).memory, Bytes::from_mib(100));
  EXPECT_EQ(set(setting("40%")).memory, Bytes::from_mib(400));
  EXPECT_EQ(set(setting("none")).memory, std::nullopt);
  EXPECT_EQ(set(setting("100%")).memory, std::nullopt);
  EXPECT_EQ(set(setting("2000Mi")).memory, std::nullopt) << "all there is";
  const auto tenth = set(setting("", "10%"));
  EXPECT_EQ(tenth.permille, 100U);
  EXPECT_EQ(tenth.weight, 100U);
  EXPECT_EQ(tenth.memory, Bytes::from_mib(250)) << "what is not set stays";
  const auto open = set(setting("", "none"));
  EXPECT_EQ(open.permille, std::nullopt);
  EXPECT_EQ(open.weight, 250U);
}

// The rest of its GPU instance belongs to its neighbours.
TEST(WithSetting, AComputeInstanceIsNotLetBeyondItsPart) {
  auto instance = resource();
  instance.devices[0].shares_memory = true;
  const auto with = [&](const char* memory) {
    return with_setting(promised(), setting(memory), instance, {{"GPU-a", {}}});
  };
  EXPECT_EQ(with("100%")->devices.at(0).memory, Bytes::from_mib(1000));
  EXPECT_EQ(with("1000Mi")->devices.at(0).memory, Bytes::from_mib(1000));
  EXPECT_FALSE(with("2000Mi"));
  EXPECT_EQ(with("none")->devices.at(0).memory, std::nullopt) << "the operator's own words";
}

// limits/v1 has no part larger than what may be borrowed.
TEST(WithSetting, WhatIsPromisedIsNotBorrowed) {
  auto elastic = promised();
  elastic.enforcement = Enforcement::kElastic;
  elastic.devices[0].borrowing = {Bytes::from_mib(500), Bytes::from_mib(1000)};
  const auto with = [&](const char* memory) {
    return with_setting(elastic, setting(memory), resource(), {}).value();
  };
  EXPECT_EQ(with("400Mi").devices[0].borrowing, elastic.devices[0].borrowing);
  EXPECT_EQ(with("100Mi").devices[0].borrowing, elastic.devices[0].borrowing);
  for (const auto* memory : {"500Mi", "600Mi", "none"}) {
    EXPECT_EQ(with(memory).devices[0].borrowing, std::nullopt) << memory;
    EXPECT_TRUE(limit::decode(limit::encode(with(memory)))) << memory;
  }
}

TEST(WithSetting, LoweringNeedsNobodysRoom) {
  const PromisedElsewhere full{.memory = Bytes::from_mib(1000), .permille = 1000};
  EXPECT_EQ(set(setting("100Mi", "10%"), full).memory, Bytes::from_mib(100));
  EXPECT_EQ(set(setting("250Mi", "25%"), full).permille, 250U) << "the same";
}

TEST(WithSetting, RaisingNeedsWhatIsPromisedToNobody) {
  EXPECT_EQ(
      set(setting("300Mi", "30%"), {.memory = Bytes::from_mib(700), .permille = 700}).permille,
      300U);
  const auto why = [](const cluster::LimitSetting& wanted, const PromisedElsewhere& others) {
    const auto limits = with_setting(promised(), wanted, resource(), {{"GPU-a", others}});
    EXPECT_FALSE(limits);
    return limits ? "" : limits.error().message();
  };
  EXPECT_THAT(why(setting("301Mi"), {.memory = Bytes::from_mib(700)}),
              HasSubstr("memory: 301 MiB cannot be kept"));
  EXPECT_THAT(why(setting("none"), {.memory = Bytes{1}}), HasSubstr("1000 MiB cannot be kept"));
  EXPECT_THAT(why(setting("", "30.1%"), {.permille = 700}),
              HasSubstr("compute: 30.1% cannot be kept: 70% of the time of GPU-a"));
}

TEST(WithSetting, ClassesCountWithPriorityAlone) {
  const auto with = with_setting(promised(), setting("", "", "best-effort"),
                                 resource(config::SharePolicy::kPriority), {});
  ASSERT_TRUE(with);
  EXPECT_EQ(with->priority, Priority::kBestEffort);
  const auto without = with_setting(promised(), setting("", "", "best-effort"), resource(), {});
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().message(), HasSubstr("policy: priority"));
}

TEST(WithSetting, ByAnAnnotationItIsOnlyLowered) {
  const auto with = [](const cluster::LimitSetting& wanted) {
    return with_setting(promised(), wanted, resource(config::SharePolicy::kPriority), {},
                        Raising::kRefused);
  };
  const auto lowered = with(setting("100Mi", "10%", "best-effort"));
  ASSERT_TRUE(lowered) << lowered.error().message();
  EXPECT_EQ(lowered->devices.at(0).memory, Bytes::from_mib(100));
  EXPECT_EQ(lowered->devices.at(0).permille, 100U);
  EXPECT_EQ(lowered->priority, Priority::kBestEffort);
  EXPECT_FALSE(lowered->set_by_operator);
  EXPECT_TRUE(with(setting("250Mi", "25%", "normal"))) << "the same";
  for (const auto& raised : {setting("251Mi"), setting("none"), setting("", "25.1%"),
                             setting("", "none"), setting("", "", "latency-critical")}) {
    const auto refused = with(raised);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kPermission);
    EXPECT_THAT(refused.error().message(), HasSubstr("annotation only lowers"));
  }
}

TEST(WithSetting, WhatCannotBe) {
  auto unlimited = resource();
  unlimited.limits.reset();
  EXPECT_EQ(with_setting(promised(), setting("1Gi"), unlimited, {}).error().code,
            Code::kFailedPrecondition);
  EXPECT_EQ(with_setting(promised(), setting("10%"), resource({}, Bytes{}), {}).error().code,
            Code::kFailedPrecondition);
  auto moved = promised();
  moved.devices[0].uuid = "GPU-b";
  EXPECT_THAT(with_setting(moved, setting("1Mi"), resource(), {}).error().what,
              HasSubstr("GPU-b is not offered any more"));
}

ClaimTenant whole() {
  return {.id = "t",
          .driver = "gpu.nvidia.com",
          .limits = {.enforcement = Enforcement::kStrict,
                     .devices = {{.uuid = "GPU-a",
                                  .memory = Bytes::from_mib(600),
                                  .weight = 1000,
                                  .permille = {}}}},
          .most = {{.uuid = "GPU-a", .weight = 1000}},
          .devices = {{.uuid = "GPU-a", .memory = Bytes::from_mib(1000)}}};
}

TEST(WithClaimSetting, AWholeDeviceMayBeGivenBack) {
  const auto all = with_claim_setting(whole(), setting("none", "none"), Raising::kAllowed);
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->devices.at(0).memory, std::nullopt);
  EXPECT_TRUE(all->set_by_operator);
  const auto half = with_claim_setting(whole(), setting("50%", "30%"), Raising::kRefused);
  ASSERT_TRUE(half) << half.error().message();
  EXPECT_EQ(half->devices.at(0).memory, Bytes::from_mib(500));
  EXPECT_EQ(half->devices.at(0).permille, 300U);
  EXPECT_EQ(with_claim_setting(whole(), setting("none"), Raising::kRefused).error().code,
            Code::kPermission);
}

TEST(WithClaimSetting, WhatCannotBe) {
  EXPECT_EQ(with_claim_setting(whole(), setting("", "", "normal"), Raising::kAllowed).error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(with_claim_setting(whole(), setting("lots"), Raising::kAllowed).error().code,
            Code::kInvalidArgument);
  auto lost = whole();
  lost.devices.clear();
  EXPECT_EQ(with_claim_setting(lost, setting("1Mi"), Raising::kAllowed).error().code,
            Code::kFailedPrecondition);
}

TEST(WithSetting, SaysWhatToWrite) {
  for (const auto& wrong : {setting("equal"), setting("lots"), setting("", "equal"),
                            setting("", "8Gi"), setting("", "", "urgent"), setting("200%")}) {
    const auto done = with_setting(promised(), wrong, resource(), {});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::kInvalidArgument);
    EXPECT_FALSE(done.error().hint.empty()) << done.error().message();
  }
}

// The promise to a client of MPS is in its environment.
TEST(WithClaimSetting, AClientOfMpsIsLoweredByTheLimiterAndNotRaised) {
  ClaimTenant tenant{
      .id = "t",
      .driver = "gpu.nvidia.com",
      .limits = {.enforcement = Enforcement::kStrict,
                 .devices = {{.uuid = "GPU-a",
                              .memory = Bytes::from_mib(1000),
                              .weight = 500,
                              .permille = 500,
                              .enforcer = MemoryEnforcer::kMps}}},
      .most = {{.uuid = "GPU-a", .memory = Bytes::from_mib(2000), .weight = 800, .permille = 800}},
      .devices =
          {{.uuid = "GPU-a", .paths = {}, .unhealthy_reason = {}, .memory = Bytes::from_mib(4000)}},
      .client = true,
      .by_mps = true};
  const auto promised = promised_limits(tenant).value();
  EXPECT_EQ(promised.devices[0].permille, std::nullopt);
  EXPECT_EQ(promised.priority, Priority::kLatencyCritical);

  const auto memory = with_claim_setting(tenant, setting("500Mi"), Raising::kAllowed);
  ASSERT_TRUE(memory) << memory.error().message();
  EXPECT_EQ(memory->devices[0].memory, Bytes::from_mib(500));
  EXPECT_EQ(memory->devices[0].permille, std::nullopt) << "MPS keeps it";
  EXPECT_EQ(memory->priority, Priority::kLatencyCritical);
  const auto compute = with_claim_setting(tenant, setting("", "20%"), Raising::kAllowed);
  ASSERT_TRUE(compute) << compute.error().message();
  EXPECT_EQ(compute->devices[0].permille, 200U);

  const auto more = with_claim_setting(tenant, setting("1500Mi"), Raising::kAllowed);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(more.error().what, ::testing::HasSubstr("the container's environment"));
  EXPECT_FALSE(with_claim_setting(tenant, setting("", "60%"), Raising::kAllowed));
  tenant.client = tenant.by_mps = false;
  EXPECT_TRUE(with_claim_setting(tenant, setting("1500Mi"), Raising::kAllowed));
}

}  // namespace
}  // namespace tranche::agent::limit_setting_rules_test
