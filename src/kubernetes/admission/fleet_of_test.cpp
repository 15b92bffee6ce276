#include "admission/fleet_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::admission::fleet_of_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kDriver = "gpu.nvidia.com";

cluster::SliceDevice device(const std::string& product, std::uint64_t mib, bool shareable = true) {
  cluster::SliceDevice made{.name = "gpu-0", .shareable = shareable};
  made.attributes.emplace("productName", product);
  made.capacity.emplace("memory", cluster::DeviceCapacity{.value = mib << 20U});
  return made;
}

cluster::ResourceSlice slice(std::vector<cluster::SliceDevice> devices,
                             const std::string& driver = kDriver) {
  return {.name = "s", .driver = driver, .node = "n", .devices = std::move(devices)};
}

TEST(FleetOf, ModelsOfOurDriverSmallOnesFirst) {
  const auto models =
      models_of({slice({device("NVIDIA L20", 46068), device("Tesla T4", 15360)}),
                 slice({device("Tesla T4", 15000), device("NVIDIA A30", 24576, false)}),
                 slice({device("Other", 1)}, "gpu.example.com")},
                kDriver);
  EXPECT_THAT(models, ElementsAre(DraModel{"Tesla T4", Bytes::from_mib(15000)},
                                  DraModel{"NVIDIA L20", Bytes::from_mib(46068)}));
}

// A model's least amounts count, and an agent that does not publish the total has no more than
// that.
TEST(FleetOf, TotalMemoryIncludesTheDrivers) {
  const auto with_total = [](const std::string& product, std::uint64_t mib, std::int64_t total) {
    auto made = device(product, mib);
    made.attributes["tranche.dev/totalMemory"] = total;
    return made;
  };
  const auto total_of = [](std::vector<cluster::SliceDevice> devices) {
    return models_of({slice(std::move(devices))}, kDriver).at(0).total;
  };
  EXPECT_EQ(total_of({with_total("L20", 45476, 46068)}), Bytes::from_mib(46068));
  EXPECT_EQ(total_of({with_total("L20", 45476, 46068), with_total("L20", 45400, 46000)}),
            Bytes::from_mib(46000));
  EXPECT_EQ(total_of({with_total("L20", 45476, 46068), device("L20", 46068)}), Bytes());
  EXPECT_EQ(total_of({with_total("L20", 45476, -1)}), Bytes());
}

TEST(FleetOf, ADeviceWithoutAttributesDoesNotCount) {
  auto nameless = device("", 100);
  auto without_memory = device("A", 100);
  without_memory.capacity.clear();
  auto numbered = device("B", 100);
  numbered.attributes["productName"] = std::int64_t{7};
  EXPECT_THAT(models_of({slice({nameless, without_memory, numbered})}, kDriver), IsEmpty());
}

TEST(FleetOf, GpusAllocatedOnlyWhole) {
  auto whole = device("NVIDIA L20", 46068, false);
  whole.attributes["type"] = std::string("gpu");
  auto shared = device("NVIDIA L20", 46068);
  shared.attributes["type"] = std::string("gpu");
  auto instance = device("NVIDIA A30", 24576, false);
  instance.attributes["type"] = std::string("mig");
  EXPECT_TRUE(gives_whole_alone({slice({shared}), slice({instance, whole})}, kDriver));
  EXPECT_FALSE(gives_whole_alone({slice({shared, instance})}, kDriver));
  EXPECT_FALSE(gives_whole_alone({slice({whole}, "gpu.example.com")}, kDriver));
  EXPECT_FALSE(gives_whole_alone({}, kDriver));
}

cluster::Node node(const std::string& resource, cluster::StringMap labels,
                   const std::string& amount = "4") {
  return {.name = "n", .labels = std::move(labels), .allocatable = {{resource, amount}}};
}
constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kShared = "nvidia.com/gpu.shared";
constexpr const char* kReplicas = "nvidia.com/gpu.replicas";

struct Case {
  const char* name;
  std::vector<cluster::Node> nodes;
  std::vector<Replica> expected;
};

TEST(FleetOf, Replicas) {
  const cluster::StringMap strict = {{kReplicas, "4"}, {"tranche.dev/gpu.shared.limits", "strict"}};
  const Case cases[] = {
      {"none", {}, {}},
      {"whole GPUs", {node(kGpu, {{kReplicas, "1"}})}, {}},
      {"unlabelled", {node(kGpu, {})}, {}},
      {"odd label", {node(kGpu, {{kReplicas, "many"}})}, {}},
      {"shared under the name", {node(kGpu, {{kReplicas, "2"}})}, {{kGpu, 500, false}}},
      {"renamed and limited", {node(kShared, strict)}, {{kShared, 250, true}}},
      {"only counted",
       {node(kGpu, {{kReplicas, "2"}, {"tranche.dev/gpu.limits", "account"}})},
       {{kGpu, 500, false}}},
      {"the smallest and the weakest",
       {node(kShared, strict), node(kShared, {{kReplicas, "3"}})},
       {{kShared, 250, false}}},
      {"whole ones beside", {node(kGpu, {{kReplicas, "2"}}), node(kGpu, {})}, {{kGpu, 500, false}}},
      {"none left", {node(kShared, strict, "0")}, {}},
      {"instances of MIG",
       {node(kGpu, {{kReplicas, "2"}}), node(kGpu, {{"nvidia.com/mig.strategy", "single"}})},
       {}},
  };
  for (const auto& one : cases) EXPECT_EQ(replicas_of(one.nodes), one.expected) << one.name;
}

}  // namespace
}  // namespace tranche::admission::fleet_of_test
