#include "limit/tenant_limits.h"

#include <gtest/gtest.h>

#include "base/envelope.h"

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

TEST(TenantLimits, ADamagedOrEditedTextIsRefused) {
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

// Decodes a file with a correct checksum, with `device` and the other parts given.
Result<TenantLimits> read(const std::string& device, const std::string& enforcement = R"("strict")",
                          const std::string& end = R"(,"resource":"r")") {
  return decode(seal({.version = "limits/v1", .key = "limits"},
                     R"({"devices":[)" + device + R"(],"enforcement":)" + enforcement +
                         R"(,"id":"a","priority":"normal")" + end + "}"));
}

TEST(TenantLimits, InvalidFieldsAreNamed) {
  const std::string good = R"({"uuid":"G","weight":1})";
  ASSERT_TRUE(read(good)) << read(good).error().what;
  EXPECT_TRUE(read(R"({"memoryBytes":null,"permille":null,"uuid":"","weight":1})"));
  EXPECT_EQ(read(R"({"memoryBytes":18446744073709551615,"uuid":"G","weight":4294967295})")
                .value()
                .devices[0],
            (DeviceLimits{"G", Bytes{UINT64_MAX}, UINT32_MAX}));
  const struct {
    std::string device;
    const char* why;
  } cases[] = {
      {"7", "devices has a number where an object is expected"},
      {good + R"(,{"weight":1})", "devices[1].uuid is missing"},
      {R"({"uuid":7,"weight":1})", "devices[0].uuid is a number where a text is expected"},
      {R"({"uuid":"G"})", "devices[0].weight is missing"},
      {R"({"uuid":"G","weight":4294967297})",
       "devices[0].weight is 4294967297, no whole number from 0 to 4294967295"},
      {R"({"uuid":"G","weight":-1})",
       "devices[0].weight is -1, no whole number from 0 to 4294967295"},
      {R"({"uuid":"G","weight":true})",
       "devices[0].weight is true or false where a number is expected"},
      {R"({"memoryBytes":1.5,"uuid":"G","weight":1})",
       "devices[0].memoryBytes is 1.5, no whole number from 0 to 18446744073709551615"},
      {R"({"memoryBytes":1,"memoryHardBytes":2,"uuid":"G","weight":1})",
       "devices[0].deviceBytes is missing"},
      {R"({"memoryBy":"luck","uuid":"G","weight":1})", "G: unknown memoryBy luck"},
  };
  for (const auto& [device, why] : cases) {
    const auto limits = read(device);
    ASSERT_FALSE(limits) << device;
    EXPECT_EQ(limits.error().what, why);
    EXPECT_EQ(limits.error().code, Code::kInvalidArgument);
  }
  EXPECT_EQ(read(good, R"("lax")").error().what, "unknown enforcement \"lax\"");
  EXPECT_EQ(read(good, "[]").error().what, "enforcement is a list where a text is expected");
  EXPECT_EQ(read(good, R"("strict")", "").error().what, "resource is missing");
  EXPECT_EQ(read(good, R"("strict")", R"(,"resource":"r","setByOperator":null)").error().what,
            "setByOperator is null where true or false is expected");
}

TEST(TenantLimits, AFileThatDoesNotSayWhatKeepsMemoryMeansTheLimiter) {
  EXPECT_EQ(encode(sample()).find("limiter"), std::string::npos);
  EXPECT_EQ(decode(encode(sample()))->devices[0].enforcer, MemoryEnforcer::kLimiter);
  EXPECT_EQ(decode(encode(sample()))->devices[1].enforcer, MemoryEnforcer::kMig);
}

TEST(TenantLimits, OnlyStrictOnesAreCapped) {
  auto limits = sample();
  EXPECT_EQ(time_policy_of(limits, limits.devices[0]),
            (TimePolicy{.weight = 2, .permille = 250, .priority = Priority::kBestEffort}));
  limits.enforcement = Enforcement::kElastic;
  EXPECT_EQ(time_policy_of(limits, limits.devices[0]).permille, std::nullopt);
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
