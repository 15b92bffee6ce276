#include "dra/claim_config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::dra::claim_config_test {
namespace {

using ::testing::HasSubstr;
using Kind = ClaimSettings::Kind;

std::string config(const std::string& kind, const std::string& rest) {
  return fmt::format(R"({{"apiVersion": "resource.nvidia.com/v1beta1", "kind": "{}"{}}})", kind,
                     rest);
}

TEST(ClaimConfig, ReadsNvidiasKinds) {
  EXPECT_EQ(parse_settings(config("GpuConfig", "")).value(), ClaimSettings{});
  EXPECT_EQ(parse_settings(config("GpuConfig", R"(, "sharing": {"strategy": "TimeSlicing",
      "timeSlicingConfig": {"interval": "Long"}})"))
                .value(),
            (ClaimSettings{.sharing = SharingWish::kTimeSlicing, .interval = "Long"}));
  EXPECT_EQ(parse_settings(config("GpuConfig", R"(, "sharing": {"strategy": "MPS", "mpsConfig": {
      "defaultActiveThreadPercentage": 50, "defaultPinnedDeviceMemoryLimit": "10Gi",
      "defaultPerDevicePinnedMemoryLimit": {"0": "1Gi", "GPU-1": "2Gi"}, "multiUser": true}})"))
                .value(),
            (ClaimSettings{
                .sharing = SharingWish::kMps,
                .threads = 50,
                .memory = Bytes::from_mib(10240),
                .memory_of = {{"0", Bytes::from_mib(1024)}, {"GPU-1", Bytes::from_mib(2048)}}}));
  EXPECT_EQ(
      parse_settings(config("MigDeviceConfig", R"(, "sharing": {"strategy": "MPS"})")).value(),
      (ClaimSettings{.kind = Kind::kMig, .sharing = SharingWish::kMps}));
}

// As Kubernetes reads a quantity, and MPS a percentage.
TEST(ClaimConfig, NumbersAreQuantitiesAndNoThreadsAreNoLimit) {
  const auto read = [](const char* limits) {
    return parse_settings(config("GpuConfig", fmt::format(R"(, "sharing": {{"strategy": "MPS",
        "mpsConfig": {{{}}}}})",
                                                          limits)));
  };
  for (const auto* memory : {"1048576", "1.048576e6", R"("1Mi")", R"("1048576")"}) {
    const auto settings = read(
        fmt::format(R"("defaultPinnedDeviceMemoryLimit": {}, "defaultActiveThreadPercentage": 0)",
                    memory)
            .c_str());
    ASSERT_TRUE(settings) << settings.error().message();
    EXPECT_EQ(settings->memory, Bytes::from_mib(1)) << memory;
    EXPECT_FALSE(settings->threads);
  }
}

struct RefusedConfig {
  const char* name;
  std::string text;
  Code code;
  const char* says;
};

TEST(ClaimConfig, RefusesStrictly) {
  const auto sharing = [](const char* text) {
    return config("GpuConfig", std::string(R"(, "sharing": )") + text);
  };
  constexpr auto kBad = Code::kInvalidArgument;
  const RefusedConfig cases[] = {
      {"no JSON", "half", kBad, ""},
      {"no object", "[]", kBad, "apiVersion"},
      {"another group", R"({"apiVersion": "gpu.nvidia.com/v1", "kind": "GpuConfig"})", kBad,
       "apiVersion is \"gpu.nvidia.com/v1\""},
      {"another kind", config("Config", ""), kBad, "kind is \"Config\""},
      {"pass-through", config("VfioDeviceConfig", ""), Code::kUnsupported, "not served"},
      {"a compute domain", config("ComputeDomainChannelConfig", ""), Code::kUnsupported,
       "not served"},
      {"an unknown field", config("GpuConfig", R"(, "memory": "1Gi")"), kBad,
       "memory is not known"},
      {"no strategy", sharing("{}"), kBad, "sharing.strategy"},
      {"another strategy", sharing(R"({"strategy": "Turns"})"), kBad,
       "neither TimeSlicing nor MPS"},
      {"another interval",
       sharing(R"({"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Huge"}})"), kBad,
       "sharing.timeSlicingConfig.interval is none of Default, Short"},
      {"an interval with MPS", sharing(R"({"strategy": "MPS", "timeSlicingConfig": {}})"), kBad,
       "timeSlicingConfig is for"},
      {"MPS's settings without it", sharing(R"({"strategy": "TimeSlicing", "mpsConfig": {}})"),
       kBad, "needs strategy MPS"},
      {"an interval of an instance",
       config("MigDeviceConfig",
              R"(, "sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {}})"),
       kBad, "for whole GPUs"},
      {"fewer threads than none",
       sharing(R"({"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": -1}})"), kBad,
       "defaultActiveThreadPercentage"},
      {"too many threads",
       sharing(R"({"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 101}})"), kBad,
       "defaultActiveThreadPercentage"},
      {"no memory",
       sharing(R"({"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": "0"}})"),
       kBad, "defaultPinnedDeviceMemoryLimit is less than 1Mi"},
      {"memory below a MiB",
       sharing(R"({"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": 1000}})"),
       kBad, "defaultPinnedDeviceMemoryLimit is less than 1Mi"},
      {"no quantity",
       sharing(R"({"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": "10GB"}})"),
       kBad, "is no quantity of bytes, such as 10Gi"},
      {"memory that is neither text nor number",
       sharing(R"({"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": true}})"),
       kBad, "defaultPinnedDeviceMemoryLimit"},
      {"a device that is none",
       sharing(R"({"strategy": "MPS", "mpsConfig": {"defaultPerDevicePinnedMemoryLimit":
               {"first": "1Gi"}}})"),
       kBad, "first is neither a UUID nor an index"},
  };
  for (const auto& one : cases) {
    const auto read = parse_settings(one.text);
    ASSERT_FALSE(read) << one.name;
    EXPECT_EQ(read.error().code, one.code) << one.name;
    EXPECT_THAT(read.error().message(), HasSubstr(one.says)) << one.name;
  }
}

}  // namespace
}  // namespace tranche::dra::claim_config_test
