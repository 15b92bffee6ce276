#include "cluster/device_status.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tranche::cluster::device_status_test {
namespace {

const DeviceStatus kShare{.driver = "gpu.nvidia.com",
                          .pool = "gpu-n1",
                          .device = "gpu-0",
                          .share_id = "s1",
                          .ready = true,
                          .reason = "Prepared",
                          .since = "2026-01-01T00:00:00Z",
                          .uuid = "GPU-a",
                          .memory = Bytes::from_mib(23034),
                          .percent = 50};

TEST(DeviceStatus, IsWrittenAsKubernetesHasIt) {
  EXPECT_EQ(nlohmann::json::parse(to_apply({"team", "half"}, "u", {kShare})),
            nlohmann::json::parse(R"({
    "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
    "metadata": {"namespace": "team", "name": "half", "uid": "u"},
    "status": {"devices": [
      {"driver": "gpu.nvidia.com", "pool": "gpu-n1", "device": "gpu-0", "shareID": "s1",
       "conditions": [{"type": "Ready", "status": "True", "reason": "Prepared", "message": "",
                       "lastTransitionTime": "2026-01-01T00:00:00Z"}],
       "data": {"uuid": "GPU-a", "memory": "23034Mi", "compute": 50}}]}})"));
}

TEST(DeviceStatus, IsReadBackAmongThoseOfOthers) {
  auto other = kShare;
  other.driver = "nic.example.com";
  const auto read =
      parse_device_statuses(to_apply({"team", "half"}, "u", {other, kShare}), "gpu.nvidia.com");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, std::vector{kShare});
}

TEST(DeviceStatus, ALongMessageIsCutWhereACharacterEnds) {
  auto status = kShare;
  status.message = std::string(kLongestConditionMessage - 1, 'x') + "\xc3\xa9";
  const auto read =
      parse_device_statuses(to_apply({"team", "half"}, "u", {status}), "gpu.nvidia.com");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->front().message.size(), kLongestConditionMessage - 1);
}

}  // namespace
}  // namespace tranche::cluster::device_status_test
