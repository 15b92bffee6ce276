#include "agent/dra/claim_mps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::agent::claim_mps_test {
namespace {

using testing::HasSubstr;

constexpr const char* kResource = "nvidia.com/gpu";

dra::PreparedDevice share(const std::string& uuid, const char* request, std::uint32_t percent,
                          const std::string& mps = kResource) {
  return {.request = request,
          .pool = "gpu-n1",
          .device = "gpu-0",
          .share_id = "7d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e0" + uuid.substr(uuid.size() - 1),
          .uuid = uuid,
          .part = dra::ConsumedPart{Bytes::from_mib(1000), percent},
          .limits = GrantLimits{.enforcement = Enforcement::kStrict,
                                .devices = {{.uuid = uuid,
                                             .memory = Bytes::from_mib(1000),
                                             .weight = percent * 10,
                                             .permille = percent * 10}}},
          .mps = mps};
}

dra::PreparedClaim claim(std::vector<dra::PreparedDevice> devices) {
  return {.ns = "team",
          .name = "c",
          .uid = "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a",
          .boot = "b",
          .devices = std::move(devices)};
}

ClaimNode node() {
  ClaimNode node;
  for (const auto* uuid : {"GPU-0", "GPU-1"}) {
    node.enforcers.gpus[uuid] = {.enforcer = MemoryEnforcer::kMps, .mps = kResource};
  }
  node.mps = {{kResource, {.open = true}}};
  node.mps_root = "/run/nvidia/mps/";
  return node;
}

TEST(ClaimMps, AContainerIsToldOfTheGpusOfTheRequestThatItHasTogether) {
  const auto two = claim({share("GPU-0", "gpus", 30), share("GPU-1", "gpus", 30)});
  const auto client = client_of(two, two.devices[1], {two}, node());
  ASSERT_TRUE(client);
  EXPECT_EQ(client->envs.at("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "GPU-0=1000M,GPU-1=1000M");
  EXPECT_EQ(client->envs.at("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "30");
  EXPECT_EQ(client->mounts.at(0).host_path, "/run/nvidia/mps/nvidia.com/gpu/pipe");
  // A GPU that the process does not see would lift the limits of all.
  const auto apart = claim({share("GPU-0", "a", 30), share("GPU-1", "b", 30)});
  EXPECT_EQ(client_of(apart, apart.devices[1], {apart}, node())
                ->envs.at("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"),
            "GPU-1=1000M");
}

TEST(ClaimMps, AWholeGpuIsAClientWithoutLimitsAndWithNamespacesInTheDefaultOne) {
  auto whole = share("GPU-0", "gpu", 30);
  whole.limits.reset();
  auto with = node();
  with.mps[kResource].namespaces = true;
  const auto client = client_of(claim({whole}), whole, {}, with);
  ASSERT_TRUE(client);
  EXPECT_EQ(client->envs,
            (std::map<std::string, std::string>{
                {"CUDA_MPS_PIPE_DIRECTORY", "/mps/nvidia.com/gpu/pipe/shared/default"}}));
  whole.admin_access = true;
  EXPECT_FALSE(client_of(claim({whole}), whole, {}, with)) << "it watches";
  whole.uuid = "MIG-0";
  EXPECT_FALSE(client_of(claim({whole}), whole, {}, with));
}

TEST(ClaimMps, WhoseContainersWereMadeForAnotherSharingIsSaid) {
  const auto now = node().enforcers;
  const auto held = [](const char* gpu, const char* mps) {
    return std::vector{holdings::Holding{.device = gpu,
                                         .gpu = gpu,
                                         .wire = holdings::Wire::kClaim,
                                         .claim = "c",
                                         .mps = mps,
                                         .ns = "team"}};
  };
  EXPECT_EQ(describe_before_mps(held("GPU-0", kResource), now), "");
  EXPECT_EQ(describe_after_mps(held("GPU-0", kResource), now), "");
  EXPECT_THAT(describe_before_mps(held("GPU-0", ""), now),
              HasSubstr("before MPS served their GPU: team/c;"));
  EXPECT_EQ(describe_after_mps(held("GPU-0", ""), now), "");
  EXPECT_THAT(describe_after_mps(held("GPU-0", kResource), {}),
              HasSubstr("serves their GPU no longer (another sharing): team/c;"));
  EXPECT_THAT(describe_after_mps(held("GPU-0", "nvidia.com/old"), now), HasSubstr("team/c"));
  EXPECT_EQ(describe_after_mps(held("GPU-x", ""), now), "");
}

}  // namespace
}  // namespace tranche::agent::claim_mps_test
