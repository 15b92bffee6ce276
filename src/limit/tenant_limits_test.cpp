#include "limit/tenant_limits.h"

#include <gtest/gtest.h>

namespace tranche::limit::tenant_limits_test {
namespace {

TenantLimits sample() {
  return {.id = "5c1f",
          .resource = "nvidia.com/gpu.shared",
          .enforcement = wire::Enforcement::kStrict,
          .priority = Class::kBestEffort,
          .devices = {{"GPU-1", 512U << 20U, 2, 250, Borrowing{700U << 20U, 1U << 30U}},
                      {"MIG-2", std::nullopt, 1, std::nullopt, std::nullopt, MemoryBy::kMig}}};
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
  limits.devices[0].borrowing->hard_bytes = 1000;
  EXPECT_EQ(decode(encode(limits)).error().what,
            "GPU-1: memoryHardBytes 1000 is less than was promised");
  limits.devices.clear();
  EXPECT_EQ(decode(encode(limits)).error().what, "0 devices; 1 to 16 are possible");
}

TEST(TenantLimits, AFileThatDoesNotSayWhatKeepsMemoryMeansTheLimiter) {
  EXPECT_EQ(encode(sample()).find("limiter"), std::string::npos);
  EXPECT_EQ(decode(encode(sample()))->devices[0].memory_by, MemoryBy::kLimiter);
  EXPECT_EQ(decode(encode(sample()))->devices[1].memory_by, MemoryBy::kMig);
}

TEST(TenantLimits, OnlyStrictOnesAreCapped) {
  auto limits = sample();
  EXPECT_EQ(share_of(limits, limits.devices[0]),
            (Share{.weight = 2, .permille = 250, .priority = Class::kBestEffort}));
  limits.enforcement = wire::Enforcement::kElastic;
  EXPECT_EQ(share_of(limits, limits.devices[0]).permille, std::nullopt);
}

TEST(TenantLimits, OnlyElasticOnesMayHoldMoreThanTheyWerePromised) {
  auto limits = sample();
  EXPECT_EQ(most_bytes(limits, limits.devices[0]), 512U << 20U);
  EXPECT_EQ(most_bytes(limits, limits.devices[1]), std::nullopt);
  limits.enforcement = wire::Enforcement::kElastic;
  EXPECT_EQ(most_bytes(limits, limits.devices[0]), 700U << 20U);
  EXPECT_TRUE(is_held(limits));
  limits.enforcement = wire::Enforcement::kAccount;
  EXPECT_EQ(most_bytes(limits, limits.devices[0]), std::nullopt);
  EXPECT_FALSE(is_held(limits));
}

TEST(TenantLimits, WordsAreReadBack) {
  for (const auto word : {"off", "account", "strict", "elastic"}) {
    EXPECT_EQ(to_string(enforcement_from(word).value()), word);
  }
  for (const auto word : {"latency-critical", "normal", "best-effort"}) {
    EXPECT_EQ(to_string(class_from(word).value()), word);
  }
  for (const auto word : {"limiter", "mps", "kernel", "mig"}) {
    EXPECT_EQ(to_string(memory_by_from(word).value()), word);
  }
  EXPECT_EQ(memory_by_from("driver"), std::nullopt);
  EXPECT_EQ(enforcement_from("hard"), std::nullopt);
  EXPECT_EQ(class_from(""), std::nullopt);
}

}  // namespace
}  // namespace tranche::limit::tenant_limits_test
