#include "cli/lint/names.h"

#include <gtest/gtest.h>

namespace tranche::cli::lint_names_test {
namespace {

using lint::AttributeKind;

// Those of NVIDIA's driver, from which manifests come.
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

// NVIDIA's driver may run beside ours then.
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

TEST(SnapshotNodes, AreReadOrRefused) {
  auto around = published_surroundings();
  const auto torn = read_snapshot("{}", around);
  ASSERT_FALSE(torn);
  EXPECT_EQ(torn.error().code, Code::kInvalidArgument);
  EXPECT_FALSE(around.offered);
}

}  // namespace
}  // namespace tranche::cli::lint_names_test
