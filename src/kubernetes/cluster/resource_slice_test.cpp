#include "cluster/resource_slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::cluster::resource_slice_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ResourceSlice sample() {
  return {.name = "n1-gpu.nvidia.com-01",
          .uid = "u",
          .resource_version = "7",
          .owners = {{"v1", "Node", "n1", "node-uid", true}},
          .driver = "gpu.nvidia.com",
          .node = "n1",
          .pool = {.name = "gpu-n1", .generation = 3, .slices = 2},
          .devices = {{.name = "gpu-0",
                       .attributes = {{"type", std::string("gpu")},
                                      {"numaNode", std::int64_t{1}},
                                      {"ready", true},
                                      {"driverVersion", SemanticVersion{"570.158.1"}}},
                       .capacity = {{"memory",
                                     {48305799168U, CapacityPolicy{48305799168U, 1U << 20U,
                                                                   48305799168U, 1U << 20U}}},
                                    {"compute", {100, {}}}},
                       .consumes = {{"gpu-0-counter-set", {{"memory-slice-0", 1}}}},
                       .taints = {{"gpu.nvidia.com/xid", "79", "NoExecute", "2026-11-23T10:00:00Z"},
                                  {.key = "k", .effect = "NoSchedule"}},
                       .shareable = true}}};
}

TEST(ResourceSlice, IsReadAsItWasWritten) {
  const auto slice = sample();
  const auto text = to_json(slice);
  EXPECT_THAT(text,
              HasSubstr(R"("memory":{"value":"46068Mi","requestPolicy":{"default":"46068Mi")"));
  EXPECT_THAT(text, HasSubstr(R"("compute":{"value":"100"})"));
  EXPECT_THAT(text, HasSubstr(R"("pool":{"name":"gpu-n1","generation":3,"resourceSliceCount":2})"));
  const auto read = parse_resource_slice(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, slice);
}

TEST(ResourceSlice, HasCountersInsteadOfDevices) {
  const ResourceSlice slice{.name = "n1-gpu.nvidia.com-00",
                            .driver = "gpu.nvidia.com",
                            .node = "n1",
                            .pool = {.name = "gpu-n1"},
                            .counters = {{"gpu-0-counter-set", {{"memory-slice-0", 1}}}}};
  const auto text = to_json(slice);
  EXPECT_THAT(text, Not(HasSubstr("devices")));
  EXPECT_EQ(parse_resource_slice(text).value(), slice);
}

// What the API server drops when a feature gate is off reads as absent.
TEST(ResourceSlice, LacksWhatTheServerDropped) {
  const auto slice = parse_resource_slice(R"({"metadata": {"name": "s"}, "spec": {"driver": "d",
    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
    "devices": [{"name": "gpu-0", "attributes": {"new": {"strings": ["a"]}},
                 "capacity": {"memory": {"value": "1Gi"}}}]}})");
  ASSERT_TRUE(slice) << slice.error().message();
  EXPECT_EQ(
      slice->devices,
      (std::vector<SliceDevice>{{.name = "gpu-0", .capacity = {{"memory", {1U << 30U, {}}}}}}));
}

TEST(ResourceSlice, AWrongAmountIsAnError) {
  for (const auto* value : {R"("-1")", R"("much")", "5"}) {
    const auto slice = parse_resource_slice(
        std::string(R"({"metadata": {"name": "s"}, "spec": {"devices": [{"name": "gpu-0",)") +
        R"("capacity": {"memory": {"value": )" + value + "}}}]}}");
    ASSERT_FALSE(slice) << value;
    EXPECT_THAT(slice.error().what, HasSubstr("spec.devices[0].capacity.memory.value"));
  }
}

}  // namespace
}  // namespace tranche::cluster::resource_slice_test
