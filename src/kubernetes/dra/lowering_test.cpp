#include "dra/lowering.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::dra::lowering_test {
namespace {

using ::testing::HasSubstr;

enum class Of { kClass, kClaim };

cluster::ClaimConfig with(Of of, std::vector<std::string> requests, const std::string& mps,
                          const std::string& driver = "gpu.nvidia.com") {
  return {of == Of::kClass, std::move(requests), driver,
          fmt::format(R"({{"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig",
                           "sharing": {{"strategy": "MPS", "mpsConfig": {{{}}}}}}})",
                      mps)};
}

cluster::ClaimConfig threads(Of of, std::vector<std::string> requests, int percent,
                             const std::string& driver = "gpu.nvidia.com") {
  return with(of, std::move(requests),
              fmt::format(R"("defaultActiveThreadPercentage": {})", percent), driver);
}

Result<std::vector<Lowering>> of(const cluster::ResourceClaim& claim,
                                 std::vector<std::string> requests) {
  std::vector<ConfiguredDevice> devices;
  for (auto& request : requests) {
    const auto number = devices.size();
    devices.push_back({.name = fmt::format("gpu-{}", number),
                       .request = std::move(request),
                       .uuid = fmt::format("GPU-{}", number)});
  }
  return lowerings_of(claim, devices, "gpu.nvidia.com");
}

TEST(Lowering, TheClaimsLastThatNamesTheRequestCounts) {
  const cluster::ResourceClaim claim{.configs = {threads(Of::kClaim, {}, 10),
                                                 threads(Of::kClaim, {"a"}, 20),
                                                 threads(Of::kClaim, {"b/l20"}, 30),
                                                 threads(Of::kClaim, {}, 40, "other.example.com")}};
  const auto permille = [](const cluster::ResourceClaim& one, const char* request) {
    return of(one, {request}).value().at(0).by_claim.permille;
  };
  EXPECT_EQ(permille(claim, "a"), 200);
  EXPECT_EQ(permille(claim, "a/t4"), 200) << "all subrequests of it";
  EXPECT_EQ(permille(claim, "b/l20"), 300);
  EXPECT_EQ(permille(claim, "b/t4"), 100);
  EXPECT_EQ(permille(claim, "c"), 100);
  EXPECT_EQ(permille({}, "c"), std::nullopt);
  auto broken = claim;
  broken.configs.push_back({false, {"c"}, "gpu.nvidia.com", "{}"});
  const auto refused = of(broken, {"c"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("the claim's configuration for c: "));
  EXPECT_TRUE(of(broken, {"a"})) << "it is another request's";
}

TEST(Lowering, TheSmallestOfClassAndClaimCounts) {
  const cluster::ResourceClaim claim{
      .configs = {threads(Of::kClass, {}, 50),
                  with(Of::kClass, {}, R"("defaultPinnedDeviceMemoryLimit": "1Gi")"),
                  threads(Of::kClass, {}, 40), threads(Of::kClaim, {}, 80)}};
  const auto lowering = of(claim, {"a"}).value().at(0);
  EXPECT_EQ(lowering, (Lowering{.by_claim = {.memory = {}, .permille = 800},
                                .by_class = {.memory = Bytes::from_mib(1024), .permille = 400}}));
  const DeviceLimits whole{.uuid = "GPU-0", .weight = 1000};
  const auto limits = lowered(whole, lowering, Bytes::from_mib(16384));
  EXPECT_EQ(limits.permille, 400U);
  EXPECT_EQ(limits.memory, Bytes::from_mib(1024));
}

TEST(Lowering, MemoryOfOneDeviceGoesBeforeThatOfAll) {
  const auto mib = [](const std::string& mps, Of whose = Of::kClaim) {
    std::vector<std::uint64_t> result;
    const cluster::ResourceClaim claim{.configs = {with(whose, {"pair"}, mps)}};
    const auto all = of(claim, {"first", "pair", "pair"}).value();
    for (const auto& one : all) {
      const auto& most = whose == Of::kClaim ? one.by_claim : one.by_class;
      result.push_back(most.memory.value_or(Bytes{}).mib());
    }
    return result;
  };
  using testing::ElementsAre;
  EXPECT_THAT(mib(R"("defaultPinnedDeviceMemoryLimit": "2Gi",
                     "defaultPerDevicePinnedMemoryLimit": {"01": "3Gi"})"),
              ElementsAre(0, 2048, 3072));
  EXPECT_THAT(mib(R"("defaultPerDevicePinnedMemoryLimit": {"GPU-1": "3Gi"})"),
              ElementsAre(0, 3072, 0));
  EXPECT_THAT(
      mib(R"("defaultPerDevicePinnedMemoryLimit": {"7": "3Gi", "GPU-9": "1Gi"})", Of::kClass),
      ElementsAre(0, 0, 0))
      << "a DeviceClass's is for claims of any size";
  for (const auto* key : {"2", "GPU-0"}) {
    const cluster::ResourceClaim claim{
        .configs = {
            with(Of::kClaim, {"pair"},
                 fmt::format(R"("defaultPerDevicePinnedMemoryLimit": {{"{}": "3Gi"}})", key))}};
    const auto refused = of(claim, {"first", "pair", "pair"});
    ASSERT_FALSE(refused) << key;
    EXPECT_THAT(refused.error().message(),
                HasSubstr(fmt::format("the claim's configuration for pair: "
                                      "defaultPerDevicePinnedMemoryLimit names {}, and it is for "
                                      "2 devices",
                                      key)));
  }
}

TEST(Lowering, OnlyLowers) {
  const DeviceLimits half{
      .uuid = "GPU-1", .memory = Bytes::from_mib(8192), .weight = 500, .permille = 500};
  const auto all = Bytes::from_mib(16384);
  const auto most = [](std::uint32_t permille, std::uint64_t mib) {
    return Lowering{.by_claim = {.memory = Bytes::from_mib(mib), .permille = permille},
                    .by_class = {}};
  };
  EXPECT_EQ(lowered(half, most(800, 12000), all), half);
  const auto less = lowered(half, most(300, 1024), all);
  EXPECT_EQ(less.permille, 300U);
  EXPECT_EQ(less.weight, 300U);
  EXPECT_EQ(less.memory, Bytes::from_mib(1024));
  const DeviceLimits whole{.uuid = "GPU-1", .weight = 1000};
  EXPECT_EQ(lowered(whole, most(1000, 16384), all), whole);
  EXPECT_EQ(lowered(half, {}, all), half);
}

}  // namespace
}  // namespace tranche::dra::lowering_test
