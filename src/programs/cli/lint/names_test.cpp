#include "cli/lint/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/snapshot/snapshot_objects.h"

namespace tranche::cli::lint_names_test {
namespace {

using lint::AttributeKind;

// Manifests may come from NVIDIA's driver.
TEST(PublishedNames, AreThoseOfNvidiasDriverAndOurs) {
  const auto names = published_surroundings().names;
  const std::string driver = "gpu.nvidia.com";
  for (const auto* text : {"type", "uuid", "productName", "architecture", "parentUUID", "profile",
                           "brand", "addressingMode"}) {
    EXPECT_EQ(names.attribute(driver, text), AttributeKind::kText) << text;
  }
  for (const auto* version : {"cudaComputeCapability", "driverVersion", "cudaDriverVersion"}) {
    EXPECT_EQ(names.attribute(driver, version), AttributeKind::kVersion) << version;
  }
  EXPECT_EQ(names.attribute(driver, "numaNode"), AttributeKind::kNumber);
  EXPECT_EQ(names.attribute("resource.kubernetes.io", "pcieRoot"), AttributeKind::kText);
  EXPECT_EQ(names.attribute("resource.kubernetes.io", "pciBusID"), AttributeKind::kText);
  EXPECT_EQ(names.attribute("tranche.dev", "nvlinkIsland"), AttributeKind::kText);
  for (const auto* capacity : {"memory", "compute", "multiprocessors", "copyEngines", "decoders",
                               "encoders", "jpegEngines", "ofaEngines"}) {
    EXPECT_TRUE(names.has_capacity(driver, capacity)) << capacity;
  }
  EXPECT_FALSE(names.attribute(driver, "memory"));
  EXPECT_FALSE(names.has_capacity(driver, "uuid"));
}

// Then NVIDIA's driver may run next to ours.
TEST(PublishedNames, AreOfADriverOfAnotherNameToo) {
  const auto around = published_surroundings("gpu.example.com");
  EXPECT_EQ(around.driver, "gpu.example.com");
  EXPECT_EQ(around.names.attribute("gpu.example.com", "productName"), AttributeKind::kText);
  EXPECT_FALSE(around.names.attribute("gpu.example.com", "deviceID"));
  EXPECT_EQ(around.names.attribute("gpu.nvidia.com", "productName"), AttributeKind::kText);
  EXPECT_EQ(around.names.attribute("gpu.nvidia.com", "deviceID"), AttributeKind::kText);
}

TEST(PublishedNames, ParametersAreReadAsTheDriverReadsThem) {
  const auto check = published_surroundings().check_parameters;
  EXPECT_TRUE(check(R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig"})"));
  EXPECT_FALSE(check(R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfg"})"));
}

// A list that is missing in an older file is not taken for empty.
TEST(ASnapshot, IsAskedAsAClusterIs) {
  cluster::Snapshot snapshot;
  snapshot.nodes = {{.node = {.name = "n", .allocatable = {{"nvidia.com/gpu", "4"}}},
                     .configuration = std::nullopt}};
  snapshot.slices = {{.name = "s",
                      .driver = "gpu.nvidia.com",
                      .node = "n",
                      .devices = {{.name = "gpu-0", .attributes = {{"brand", "x"}}}}}};
  snapshot.device_classes = {{.name = "big", .extended_resource = "nvidia.com/big"}};
  auto around = published_surroundings();
  cluster::SnapshotObjects objects(snapshot);
  EXPECT_EQ(ask_cluster(objects, around), std::string());
  EXPECT_EQ(around.offered->at("nvidia.com/gpu"), 4);
  EXPECT_TRUE(around.offered->contains("nvidia.com/big"));
  EXPECT_TRUE(around.classes->contains("big"));
  EXPECT_TRUE(around.names_are_the_clusters);

  snapshot.slices.clear();
  snapshot.gaps = {{"resourceslices.resource.k8s.io", "", Code::kUnsupported, "not in this file"}};
  cluster::SnapshotObjects early(snapshot);
  around = published_surroundings();
  const auto said = ask_cluster(early, around);
  ASSERT_TRUE(said) << said.error().what;
  EXPECT_THAT(*said, testing::HasSubstr("not in this file; names of devices are compared with"));
  EXPECT_EQ(around.offered->at("nvidia.com/gpu"), 4);
  EXPECT_FALSE(around.classes) << "nobody knows them";

  snapshot.gaps = {{"nodes", "", Code::kPermission, "forbidden"}};
  snapshot.nodes.clear();
  cluster::SnapshotObjects forbidden(snapshot);
  EXPECT_EQ(ask_cluster(forbidden, around).error().code, Code::kPermission);
}

}  // namespace
}  // namespace tranche::cli::lint_names_test
