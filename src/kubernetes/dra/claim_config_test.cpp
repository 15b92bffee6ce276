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
      {"no threads",
       sharing(R"({"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 0}})"), kBad,
       "defaultActiveThreadPercentage"},
      {"too many threads",
       sharing(R"({"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 101}})"), kBad,
       "defaultActiveThreadPercentage"},
      {"no memory",
       sharing(R"({"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": "0"}})"),
       kBad, "no quantity of bytes above 0"},
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

cluster::ClaimConfig of(bool from_class, std::vector<std::string> requests, int threads,
                        const std::string& driver = "gpu.nvidia.com") {
  return {from_class, std::move(requests), driver,
          config("GpuConfig", fmt::format(R"(, "sharing": {{"strategy": "MPS",
                             "mpsConfig": {{"defaultActiveThreadPercentage": {}}}}})",
                                          threads))};
}

TEST(ClaimConfig, TheLastThatNamesTheRequestCounts) {
  const auto threads = [](const cluster::ResourceClaim& claim, const char* request) {
    const auto settings = settings_for(claim, request, "gpu.nvidia.com").value();
    return settings ? settings->threads.value_or(0) : -1;
  };
  const cluster::ResourceClaim claim{.configs = {of(true, {}, 10), of(false, {"a"}, 20),
                                                 of(false, {"b/l20"}, 30),
                                                 of(false, {}, 40, "other.example.com")}};
  EXPECT_EQ(threads(claim, "a"), 20);
  EXPECT_EQ(threads(claim, "a/t4"), 20) << "all subrequests of it";
  EXPECT_EQ(threads(claim, "b/l20"), 30);
  EXPECT_EQ(threads(claim, "b/t4"), 10);
  EXPECT_EQ(threads(claim, "c"), 10);
  EXPECT_EQ(threads({}, "c"), -1);
  auto broken = claim;
  broken.configs.push_back({false, {"c"}, "gpu.nvidia.com", "{}"});
  const auto refused = settings_for(broken, "c", "gpu.nvidia.com");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(),
              HasSubstr("the configuration of request c (of the claim)"));
  EXPECT_TRUE(settings_for(broken, "a", "gpu.nvidia.com")) << "it is another request's";
}

TEST(ClaimConfig, OnlyLowers) {
  const DeviceLimits half{
      .uuid = "GPU-1", .memory = Bytes::from_mib(8192), .weight = 500, .permille = 500};
  const auto all = Bytes::from_mib(16384);
  const auto with = [&](const DeviceLimits& limits, int threads, std::uint64_t mib,
                        std::map<std::string, Bytes> each = {}) {
    return lowered(limits,
                   {.sharing = SharingWish::kMps,
                    .threads = threads,
                    .memory = Bytes::from_mib(mib),
                    .memory_of = std::move(each)},
                   0, all);
  };
  EXPECT_EQ(with(half, 80, 12000), half);
  const auto less = with(half, 30, 1024);
  EXPECT_EQ(less.permille, 300U);
  EXPECT_EQ(less.weight, 300U);
  EXPECT_EQ(less.memory, Bytes::from_mib(1024));
  EXPECT_EQ(with(half, 80, 1024, {{"0", Bytes::from_mib(512)}}).memory, Bytes::from_mib(512));
  EXPECT_EQ(with(half, 80, 1024, {{"1", Bytes::from_mib(512)}}).memory, Bytes::from_mib(1024));
  EXPECT_EQ(with(half, 80, 1024, {{"GPU-1", Bytes::from_mib(256)}}).memory, Bytes::from_mib(256));
  const DeviceLimits whole{.uuid = "GPU-1", .weight = 1000};
  EXPECT_EQ(with(whole, 100, 16384), whole);
  EXPECT_EQ(with(whole, 25, 4096).permille, 250U);
  EXPECT_EQ(with(whole, 25, 4096).memory, Bytes::from_mib(4096));
  EXPECT_EQ(lowered(half, {}, 0, all), half);
}

}  // namespace
}  // namespace tranche::dra::claim_config_test
