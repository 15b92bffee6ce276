// Kubelet's own bytes: with wrong field numbers a message reads as empty, and the holders would be
// unknown.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubelet/proto/podresources.pb.h"

namespace tranche::kubelet::pod_resources_wire_test {
namespace {

// A field of the wire type "length-delimited".
std::string field(int number, const std::string& content) {
  std::string bytes;
  bytes.push_back(static_cast<char>(number << 3 | 2));
  bytes.push_back(static_cast<char>(content.size()));
  return bytes + content;
}

// As Kubernetes 1.36 writes them, numbers from k8s.io/kubelet's podresources/v1.
TEST(PodResourcesWire, AContainerWithAClaimIsRead) {
  const auto resource = field(1, field(1, "vendor/class=name")) + field(2, "gpu.nvidia.com") +
                        field(3, "gpu-n1") + field(4, "gpu-0") + field(5, "share");
  const auto claim = field(2, "half") + field(3, "team") + field(4, resource);
  const auto container = field(1, "main") + field(5, claim);
  const auto pod = field(1, "web") + field(2, "team") + field(3, container);
  v1::ListPodResourcesResponse answer;
  ASSERT_TRUE(answer.ParseFromString(field(1, pod)));
  ASSERT_EQ(answer.pod_resources_size(), 1);
  const auto& read = answer.pod_resources(0).containers(0).dynamic_resources(0);
  EXPECT_EQ(read.claim_name(), "half");
  EXPECT_EQ(read.claim_namespace(), "team");
  ASSERT_EQ(read.claim_resources_size(), 1);
  EXPECT_EQ(read.claim_resources(0).driver_name(), "gpu.nvidia.com");
  EXPECT_EQ(read.claim_resources(0).device_name(), "gpu-0");
  EXPECT_EQ(read.claim_resources(0).share_id(), "share");
  EXPECT_EQ(read.claim_resources(0).cdi_devices(0).name(), "vendor/class=name");
}

}  // namespace
}  // namespace tranche::kubelet::pod_resources_wire_test
