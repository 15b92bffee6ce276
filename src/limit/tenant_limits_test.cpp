#include "limit/tenant_limits.h"

#include <gtest/gtest.h>

namespace tranche::limit::tenant_limits_test {
namespace {

TenantLimits sample() {
  return {
      .id = "5c1f",
      .resource = "nvidia.com/gpu.shared",
      .enforcement = Enforcement::kStrict,
      .priority = Priority::kBestEffort,
      .devices = {{"GPU-1", Bytes{512U << 20U}, 2, 250, Borrowing{{700U << 20U}, {1U << 30U}}},
                  {"MIG-2", std::nullopt, 1, std::nullopt, std::nullopt, MemoryEnforcer::kMig}}};
}

TEST(TenantLimits, AreReadAsTheyWereWritten) {
  const auto limits = decode(encode(sample()));
  ASSERT_TRUE(limits) << limits.error().message();
  EXPECT_EQ(*limits, sample());
}

TEST(TenantLimits, WhatIsTornOrEditedIsRefused) {
  const std::string text = encode(sample());
  for (std::size_t i = 0; i < text.size(); ++i) EXPECT_FALSE(decode(text.substr(0, i))) << i;
  std::string edited = text;
  edited.replace(
      edited.find("512") == std::string::npos ? edited.find("536870912") : edited.find("512"), 1,
      "9");
  const auto limits = decode(edited);
  ASSERT_FALSE(limits);
  EXPECT_EQ(limits.error().what, "its checksum does not match its content");
}

TEST(TenantLimits, ValuesOutOfRangeAreNamed) {
  auto limits = sample();
  limits.devices[0].permille = 1001;
  EXPECT_EQ(decode(encode(limits)).error().what, "GPU-1: permille 1001 is not in 1..1000");
  limits = sample();
  limits.devices[1].weight = 0;
  EXPECT_EQ(decode(encode(limits)).error().what, "MIG-2: weight 0");
  limits = sample();
  limits.devices[0].borrowing->hard = {1000};
  EXPECT_EQ(decode(encode(limits)).error().what,
            "GPU-1: memoryHardBytes 1000 is less than was promised");
  limits.devices.clear();
  EXPECT_EQ(decode(encode(limits)).error().what, "0 devices; 1 to 16 are possible");
}

TEST(TenantLimits, AFileThatDoesNotSayWhatKeepsMemoryMeansTheLimiter) {
  EXPECT_EQ(encode(sample()).find("limiter"), std::string::npos);
  EXPECT_EQ(decode(encode(sample()))->devices[0].enforcer, MemoryEnforcer::kLimiter);
  EXPECT_EQ(decode(encode(sample()))->devices[1].enforcer, MemoryEnforcer::kMig);
}

TEST(TenantLimits, OnlyStrictOnesAreCapped) {
  auto limits = sample();
  EXPECT_EQ(share_of(limits, limits.devices[0]),
            (Share{.weight = 2, .permille = 250, .priority = Priority::kBestEffort}));
  limits.enforcement = Enforcement::kElastic;
  EXPECT_EQ(share_of(limits, limits.devices[0]).permille, std::nullopt);
}

TEST(TenantLimits, OnlyElasticOnesMayHoldMoreThanTheyWerePromised) {
  auto limits = sample();
  EXPECT_EQ(most_memory(limits, limits.devices[0]), Bytes::from_mib(512));
  EXPECT_EQ(most_memory(limits, limits.devices[1]), std::nullopt);
  limits.enforcement = Enforcement::kElastic;
  EXPECT_EQ(most_memory(limits, limits.devices[0]), Bytes::from_mib(700));
  EXPECT_TRUE(is_held(limits));
  limits.enforcement = Enforcement::kAccount;
  EXPECT_EQ(most_memory(limits, limits.devices[0]), std::nullopt);
  EXPECT_FALSE(is_held(limits));
}

}  // namespace
}  // namespace tranche::limit::tenant_limits_test
