#include "agent/gpunode/fit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tranche::agent::fit_test {
namespace {

std::string uuid(int gpu) { return fmt::format("GPU-00000000-0000-0000-0000-{:012d}", gpu); }

// GPUs with a link between any two, each in 48 replicas that Pods with long names hold.
cluster::GpuNodeStatus crowded(int gpus, std::size_t longest = 253) {
  cluster::GpuNodeStatus status;
  auto& resource = status.resources.emplace_back();
  resource.name = "nvidia.com/gpu.shared";
  resource.sharing = "time-slicing";
  for (int gpu = 0; gpu < gpus; ++gpu) {
    status.gpus.push_back({.index = gpu, .uuid = uuid(gpu), .model = "NVIDIA L20"});
    resource.devices.push_back({.uuid = uuid(gpu), .tranches = 48});
    for (int other = gpu + 1; other < gpus; ++other) {
      status.links.push_back({.a = gpu, .b = other, .level = "system"});
    }
    for (int replica = 0; replica < 48; ++replica) {
      status.holdings.push_back({.device = uuid(gpu),
                                 .gpu = uuid(gpu),
                                 .wire = "device-plugin",
                                 .resource = resource.name,
                                 .id = fmt::format("{}::{}", uuid(gpu), replica),
                                 .ns = std::string(63, 'n'),
                                 .pod = std::string(longest, 'p'),
                                 .container = std::string(63, 'c'),
                                 .use = "time-sliced",
                                 .state = "in-use"});
    }
  }
  status.summary = {.gpus = gpus, .healthy_gpus = gpus, .tranches = 48 * gpus, .held = 48 * gpus};
  return status;
}

TEST(Fit, WhatIsShortEnoughStaysAsItIs) {
  const auto status = crowded(1);
  EXPECT_EQ(fit(status), status);
  const auto exact = to_json(status).size();
  EXPECT_EQ(fit(status, exact), status);
  EXPECT_EQ(fit(status, exact - 1).truncated.holdings, 1);
}

TEST(Fit, HoldingsAreCutFirstAndNoMoreThanIsNecessary) {
  const auto whole = crowded(16);
  ASSERT_GT(to_json(whole).size(), 4 * cluster::kLongestGpuNodeStatus);
  const auto status = fit(whole);
  EXPECT_LE(to_json(status).size(), cluster::kLongestGpuNodeStatus);
  EXPECT_GT(to_json(status).size(), cluster::kLongestGpuNodeStatus - 1024);
  EXPECT_EQ(status.holdings.size() + static_cast<std::size_t>(status.truncated.holdings), 768U);
  EXPECT_EQ(status.holdings.front(), whole.holdings.front());
  EXPECT_EQ(status.links, whole.links);
  EXPECT_EQ(status.gpus, whole.gpus);
  EXPECT_EQ(status.summary.held, 768);
  EXPECT_EQ(status.truncated, cluster::GpuNodeTruncated{.holdings = status.truncated.holdings});
}

TEST(Fit, ThenOneListAfterTheOther) {
  auto whole = crowded(4, 20);
  whole.withheld.resize(4, {.resource = "nvidia.com/gpu", .reason = std::string(512, 'r')});
  whole.reasons.resize(4, {.about = "limits", .message = std::string(512, 'm')});
  for (auto& gpu : whole.gpus) gpu.instances = std::vector<cluster::GpuNodeInstance>(7);
  const auto size_of = [](cluster::GpuNodeStatus status) { return to_json(status).size(); };
  std::size_t before = size_of(whole);
  for (std::size_t most = before; most > 700; most -= most / 9) {
    const auto status = fit(whole, most);
    const auto size = size_of(status);
    EXPECT_LE(size, most);
    EXPECT_LE(size, before);
    before = size;
    const auto& cut = status.truncated;
    // A list is only cut when those before it are empty.
    EXPECT_TRUE(cut.links == 0 || status.holdings.empty());
    EXPECT_TRUE(cut.devices == 0 || status.links.empty());
    EXPECT_TRUE(cut.withheld == 0 || cut.devices == 4);
    EXPECT_TRUE(cut.reasons == 0 || status.withheld.empty());
    EXPECT_TRUE(cut.instances == 0 || status.reasons.empty());
    EXPECT_TRUE(cut.gpus == 0 || cut.instances == 28);
    EXPECT_EQ(status.holdings.size() + static_cast<std::size_t>(cut.holdings), 192U);
    EXPECT_EQ(status.gpus.size() + static_cast<std::size_t>(cut.gpus), 4U);
    EXPECT_EQ(status.summary, whole.summary);
  }
}

TEST(Fit, OfAGpuAllInstancesAreThereOrNone) {
  cluster::GpuNodeStatus whole;
  for (int gpu = 0; gpu < 4; ++gpu) {
    whole.gpus.push_back({.index = gpu, .uuid = uuid(gpu), .instances = {{}}});
    whole.gpus.back().instances->resize(7, {.uuid = "MIG-1", .profile = "1g.10gb"});
  }
  const auto status = fit(whole, to_json(whole).size() - 10);
  EXPECT_EQ(status.truncated.instances, 7);
  EXPECT_EQ(status.gpus[2].instances, whole.gpus[2].instances);
  EXPECT_EQ(status.gpus[3].instances, std::nullopt) << "none would say that there are none";
}

}  // namespace
}  // namespace tranche::agent::fit_test
