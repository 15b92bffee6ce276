#include "agent/plugins/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::agent::comparison_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two GPUs in two; the second one is unhealthy.
offer::Offer two_gpus() {
  offer::ResourceOffer resource;
  resource.name = resource.base = {"nvidia.com/gpu"};
  resource.devices = {
      {.uuid = "GPU-a", .gpu_uuid = "GPU-a"},
      {.uuid = "GPU-b", .gpu_uuid = "GPU-b", .unhealthy_reason = "XID 79"},
  };
  for (std::size_t device : {0U, 1U}) {
    for (int replica : {0, 1}) {
      resource.tranches.push_back(
          {offer::replica_id(resource.devices[device].uuid, replica), device});
    }
  }
  return {.resources = {resource}};
}

TEST(Comparison, TellsWhoseListKubeletHas) {
  struct Case {
    const char* name;
    std::set<std::string> kubelets;
    Served served;
  };
  const std::vector<Case> cases = {
      {"ours", {"GPU-a::0", "GPU-a::1"}, Served::kOurs},
      {"none", {}, Served::kNone},
      {"fewer", {"GPU-a::0"}, Served::kPart},
      {"an unhealthy one too", {"GPU-a::0", "GPU-a::1", "GPU-b::0"}, Served::kPart},
      {"another plugin's", {"GPU-a", "GPU-b"}, Served::kOther},
      {"ours and another's", {"GPU-a::0", "GPU-a::1", "GPU-c"}, Served::kOther},
  };
  for (const auto& one : cases) {
    const auto found =
        compare(ids_of(two_gpus()), {{"nvidia.com/gpu", one.kubelets}, {"cpu.com/x", {"1"}}});
    ASSERT_EQ(found.size(), 1U) << one.name;
    EXPECT_EQ(found.at("nvidia.com/gpu").served, one.served) << one.name;
    EXPECT_EQ(found.at("nvidia.com/gpu").ours, 2U) << one.name;
  }
  EXPECT_EQ(compare(ids_of(two_gpus()), {}).at("nvidia.com/gpu").served, Served::kNone);
}

TEST(Comparison, WithNothingHealthyAnEmptyListIsOurs) {
  auto offer = two_gpus();
  offer.resources[0].devices[0].unhealthy_reason = "lost";
  EXPECT_EQ(compare(ids_of(offer), {}).at("nvidia.com/gpu").served, Served::kOurs);
}

TEST(Comparison, FindsAnotherResourceOnTheSameGpus) {
  const auto offer = two_gpus();
  EXPECT_THAT(rivals(offer, {{"nvidia.com/gpu", {"GPU-a"}}, {"x.com/fpga", {"0"}}}), IsEmpty());
  EXPECT_THAT(rivals(offer, {{"nvidia.com/gpu.shared", {"GPU-b::7"}}}),
              ElementsAre("nvidia.com/gpu.shared"));
}

}  // namespace
}  // namespace tranche::agent::comparison_test
