#include "cluster/resource_claim.h"

#include <gtest/gtest.h>

namespace tranche::cluster::resource_claim_test {
namespace {

TEST(ResourceClaim, IsRead) {
  const auto claim = parse_resource_claim(R"({
    "metadata": {"namespace": "team", "name": "c", "uid": "u", "resourceVersion": "7"},
    "spec": {"devices": {"requests": [{"name": "gpu"}]}},
    "status": {
      "allocation": {"devices": {
        "results": [
          {"request": "gpu/l20", "driver": "gpu.nvidia.com", "pool": "gpu-n1", "device": "gpu-0",
           "shareID": "s1", "consumedCapacity": {"memory": "23034Mi", "compute": "50"}},
          {"request": "all", "driver": "gpu.nvidia.com", "pool": "gpu-n1", "device": "gpu-1",
           "adminAccess": true}],
        "config": [
          {"source": "FromClass", "opaque": {"driver": "gpu.nvidia.com", "parameters": {"a": 1}}},
          {"source": "FromClaim", "requests": ["gpu/l20"],
           "opaque": {"driver": "other", "parameters": {}}}]}},
      "reservedFor": [{"resource": "pods", "name": "p", "uid": "pu"}]}})");
  ASSERT_TRUE(claim) << claim.error().message();
  EXPECT_EQ(*claim,
            (ResourceClaim{.key = {"team", "c"},
                           .uid = "u",
                           .resource_version = "7",
                           .allocated = true,
                           .devices = {{.request = "gpu/l20",
                                        .driver = "gpu.nvidia.com",
                                        .pool = "gpu-n1",
                                        .device = "gpu-0",
                                        .share_id = "s1",
                                        .consumed = {{"memory", 23034ULL << 20U}, {"compute", 50}}},
                                       {.request = "all",
                                        .driver = "gpu.nvidia.com",
                                        .pool = "gpu-n1",
                                        .device = "gpu-1",
                                        .admin_access = true}},
                           .configs = {{true, {}, "gpu.nvidia.com", R"({"a": 1})"},
                                       {false, {"gpu/l20"}, "other", "{}"}},
                           .reserved_for = {{"pods", "p", "pu"}}}));
  EXPECT_EQ(claim->devices[0].base_request(), "gpu");
  EXPECT_EQ(claim->devices[1].base_request(), "all");
}

TEST(ResourceClaim, RequestsForAllDevicesAreRead) {
  const auto claim = parse_resource_claim(R"({
    "metadata": {"name": "c"},
    "spec": {"devices": {"requests": [
      {"name": "one", "exactly": {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}},
      {"name": "watch", "exactly": {"deviceClassName": "c", "allocationMode": "All", "adminAccess": true}},
      {"name": "all", "exactly": {"deviceClassName": "c", "allocationMode": "All",
        "selectors": [{"cel": {"expression": "device.driver == 'x'"}}],
        "capacity": {"requests": {"memory": "1Gi"}}}},
      {"name": "either", "firstAvailable": [
        {"name": "a", "deviceClassName": "d", "allocationMode": "All"}]}]}}})");
  ASSERT_TRUE(claim) << claim.error().message();
  EXPECT_EQ(claim->for_all, (std::vector<RequestForAll>{
                                {"all", "c", {"device.driver == 'x'"}, {"memory"}},
                                {"either/a", "d", {}, {}},
                            }));
  EXPECT_FALSE(
      parse_resource_claim(R"({"metadata": {"name": "c"}, "spec": {"devices": {"requests": 7}}})"));
}

TEST(ResourceClaim, SelectorsOfAClassAreRead) {
  const auto selectors = parse_class_selectors(
      R"({"metadata": {"name": "c"}, "spec": {"selectors": [{"cel": {"expression": "true"}}]}})");
  ASSERT_TRUE(selectors) << selectors.error().message();
  EXPECT_EQ(*selectors, std::vector<std::string>{"true"});
  EXPECT_TRUE(parse_class_selectors(R"({"metadata": {"name": "c"}, "spec": {}})")->empty());
}

TEST(ResourceClaim, WithoutAllocation) {
  for (const auto* status : {"{}", R"({"allocation": null})"}) {
    const auto claim = parse_resource_claim(
        std::string(R"({"metadata": {"name": "c"}, "status": )") + status + "}");
    ASSERT_TRUE(claim) << claim.error().message();
    EXPECT_FALSE(claim->allocated);
  }
  EXPECT_FALSE(parse_resource_claim(
      R"({"metadata": {"name": "c"}, "status": {"allocation": {"devices": {"results": 1}}}})"));
}

}  // namespace
}  // namespace tranche::cluster::resource_claim_test
