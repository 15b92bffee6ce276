#include "gpu/sysfs.h"

#include <gtest/gtest.h>

namespace tranche::gpu::sysfs_test {
namespace {

TEST(Sysfs, NumaNode) {
  EXPECT_EQ(numa_node_path({.bus = 0x3b}), "/sys/bus/pci/devices/0000:3b:00.0/numa_node");
  EXPECT_EQ(parse_numa_node("0\n"), 0);
  EXPECT_EQ(parse_numa_node("12"), 12);
  EXPECT_EQ(parse_numa_node("-1\n"), std::nullopt);
  EXPECT_EQ(parse_numa_node(""), std::nullopt);
  EXPECT_EQ(parse_numa_node("x\n"), std::nullopt);
  EXPECT_EQ(parse_numa_node("99999999999"), std::nullopt);
}

TEST(MigMinors, FindsInstances) {
  const auto minors = MigMinors::parse(
      "config 1\n"
      "monitor 2\n"
      "gpu0/gi0/access 3\n"
      "gpu0/gi0/ci0/access 4\n"
      "gpu3/gi13/access 426\n"
      "gpu3/gi13/ci7/access 434");  // no newline at the end
  EXPECT_FALSE(minors.empty());
  EXPECT_EQ(minors.gpu_instance(0, 0), 3);
  EXPECT_EQ(minors.compute_instance(0, 0, 0), 4);
  EXPECT_EQ(minors.gpu_instance(3, 13), 426);
  EXPECT_EQ(minors.compute_instance(3, 13, 7), 434);
  EXPECT_EQ(minors.gpu_instance(1, 0), std::nullopt);
  EXPECT_EQ(minors.compute_instance(3, 13, 0), std::nullopt);
}

TEST(MigMinors, IgnoresWhatIsMalformed) {
  const auto minors = MigMinors::parse(
      "\n\ngpu0/gi0/access\ngpu0/gi1/access x\ngpu0/gi2/access -3\nlonely\n"
      "gpu0/gi3/access 9\r\n");
  EXPECT_EQ(minors.gpu_instance(0, 0), std::nullopt);
  EXPECT_EQ(minors.gpu_instance(0, 1), std::nullopt);
  EXPECT_EQ(minors.gpu_instance(0, 2), std::nullopt);
  EXPECT_EQ(minors.gpu_instance(0, 3), 9);
  EXPECT_TRUE(MigMinors::parse("").empty());
}

TEST(SysfsTest, ReadsThePcieRootOutOfTheDevicesLink) {
  EXPECT_EQ(pci_device_path({.bus = 0x3b}), "/sys/bus/pci/devices/0000:3b:00.0");
  EXPECT_EQ(parse_pcie_root("../../../devices/pci0000:44/0000:44:01.0/0000:45:00.0"), "pci0000:44");
  EXPECT_EQ(parse_pcie_root("../../../devices/pci10000:e0/10000:e0:06.0"), "pci10000:e0");
  EXPECT_EQ(parse_pcie_root("../../../devices/platform/0000:45:00.0"), std::nullopt);
  EXPECT_EQ(parse_pcie_root("/sys/bus/pci/devices/pcispecial"), std::nullopt);
  EXPECT_EQ(parse_pcie_root(""), std::nullopt);
}

}  // namespace
}  // namespace tranche::gpu::sysfs_test
