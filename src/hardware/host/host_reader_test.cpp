#include "host/host_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/pci.h"
#include "support/temp_dir.h"

namespace tranche::host::host_reader_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class HostTest : public ::testing::Test {
 protected:
  void put(const std::string& path, std::string_view content) {
    const std::filesystem::path file(path);
    ASSERT_TRUE(fs.make_directories(file.parent_path()));
    ASSERT_TRUE(fs.write_atomic(file, content));
  }
  void put_function(const std::string& address, const std::string& vendor,
                    const std::string& device_class, std::string_view config = "") {
    const std::string folder = "/sys/bus/pci/devices/" + address;
    put(folder + "/vendor", vendor);
    put(folder + "/class", device_class);
    if (!config.empty()) put(folder + "/config", config);
  }

  test::TempDir dir;
  FsRoot fs{dir.path()};
};

// 256 bytes with one capability at 0x60.
std::string config_with(std::string_view capability) {
  std::string bytes(256, '\0');
  bytes[0x06] = 0x10;
  bytes[0x34] = 0x60;
  bytes.replace(0x60, capability.size(), capability);
  return bytes;
}

std::string vgpu_capability(std::string_view before_record_0 = {}) {
  std::string records(before_record_0);
  records +=
      std::string("\x00\x16", 2) + std::string("570.158.01") + std::string("r570_00\0\0\0", 10);
  std::string capability("\x09\x00", 2);
  capability.push_back(static_cast<char>(5 + records.size()));
  return capability + "VF" + records;
}

TEST_F(HostTest, AnEmptyMachineSaysNothing) {
  EXPECT_EQ(read_host(fs, kMachineTypeFile), gpu::Host{.pci_known = false});
  EXPECT_THAT(control_nodes(fs), IsEmpty());
  EXPECT_EQ(read_platform(fs), Platform::kStandard);
}

TEST_F(HostTest, ProductNameIsTrimmed) {
  put("/sys/class/dmi/id/product_name", "  PNV5b.8XLARGE96 \n");
  EXPECT_EQ(read_host(fs, kMachineTypeFile).product_name, "PNV5b.8XLARGE96");
  put("/other", "\n");
  EXPECT_EQ(read_host(fs, "/other").product_name, "");  // as NVIDIA's program labels it
  EXPECT_EQ(read_host(fs, "/nowhere").product_name, std::nullopt);
}

TEST_F(HostTest, DisplayClassesOfNvidiaByAddress) {
  put_function("0000:3b:00.0", "0x10de\n", "0x030000\n");
  put_function("0000:0a:00.0", "0x10de\n", "0x030200\n");
  put_function("0000:0b:00.0", "0x10de\n", "0x068000\n");  // an NVSwitch
  put_function("0000:0c:00.0", "0x8086\n", "0x030000\n");  // another vendor's
  put_function("0000:0d:00.0", "nonsense", "0x030200\n");
  put_function("not-an-address", "0x10de\n", "0x030200\n");
  EXPECT_THAT(read_host(fs, kMachineTypeFile).display_classes,
              ElementsAre(Pair(gpu::PciAddress{0, 0x0a, 0, 0}, 0x030200U),
                          Pair(gpu::PciAddress{0, 0x3b, 0, 0}, 0x030000U)));
}

TEST_F(HostTest, APciBusThatCannotBeReadIsNotKnown) {
  EXPECT_FALSE(read_host(fs, kMachineTypeFile).pci_known);
  put_function("0000:0c:00.0", "0x8086\n", "0x030000\n");
  EXPECT_TRUE(read_host(fs, kMachineTypeFile).pci_known);
}

TEST_F(HostTest, VgpuOfAGuest) {
  put_function("0000:00:05.0", "0x10de\n", "0x030200\n", config_with(vgpu_capability()));
  const auto host = read_host(fs, kMachineTypeFile);
  ASSERT_TRUE(host.vgpu.has_value());
  EXPECT_EQ(host.vgpu->host_driver_version, "570.158.01");
  EXPECT_EQ(host.vgpu->host_driver_branch, "r570_00");
}

TEST(ParseVgpu, CapabilityLists) {
  using namespace std::string_literals;
  std::string circle = config_with("\x10\x60"s);
  std::string no_list = config_with(vgpu_capability());
  no_list[0x06] = 0;
  std::string second = config_with("\x10\x90"s);
  second.replace(0x90, vgpu_capability().size(), vgpu_capability());
  std::string endless = config_with("\x09\x00\x1bVF\x05\x00"s);
  std::string low = config_with(vgpu_capability());
  low[0x34] = 0x10;
  std::string beyond = config_with("");
  beyond[0x34] = static_cast<char>(0xF0);
  beyond.replace(0xF0, 16, vgpu_capability().substr(0, 16));
  struct Case {
    const char* name;
    std::string config;
    bool found;
  };
  const Case cases[] = {
      {"one", config_with(vgpu_capability()), true},
      {"second in the list", second, true},
      {"another record first", config_with(vgpu_capability("\x07\x04xx")), true},
      {"only 64 readable bytes (no privilege)", config_with(vgpu_capability()).substr(0, 64),
       false},
      {"cut within the record", config_with(vgpu_capability()).substr(0, 0x60 + 4), false},
      {"cut within the branch", config_with(vgpu_capability()).substr(0, 0x60 + 20), false},
      {"cut within the version", config_with(vgpu_capability()).substr(0, 0x60 + 10), false},
      {"cut before its last byte",
       config_with(vgpu_capability()).substr(0, 0x60 + vgpu_capability().size() - 1), false},
      {"cut behind its last byte",
       config_with(vgpu_capability()).substr(0, 0x60 + vgpu_capability().size()), true},
      {"beyond the end of the space", beyond, false},
      {"empty", "", false},
      {"no capability list", no_list, false},
      {"circular list", circle, false},
      {"record of length 0", endless, false},
      {"no record 0", config_with("\x09\x00\x05VF"s), false},
      {"another vendor capability", config_with("\x09\x00\x1bXX\x00\x16"s), false},
      {"pointer into the header", low, false},
  };
  for (const auto& c : cases) EXPECT_EQ(parse_vgpu(c.config).has_value(), c.found) << c.name;
}

TEST_F(HostTest, PlainFilesAreNoDeviceNodes) {
  put("/dev/nvidiactl", "");
  EXPECT_THAT(control_nodes(fs), IsEmpty());
}

TEST(HostDevices, CharacterDevicesCount) {
  // Links to a device that is everywhere: no privilege needed.
  const test::TempDir dir;
  const FsRoot fs(dir.path());
  ASSERT_TRUE(fs.make_directories("/dev"));
  for (const char* node : {"/dev/nvidia-uvm", "/dev/nvidiactl", "/dev/nvidia0"}) {
    std::filesystem::create_symlink("/dev/null", fs.resolve(node));
  }
  EXPECT_THAT(control_nodes(fs), ElementsAre("/dev/nvidiactl", "/dev/nvidia-uvm"));
}

TEST_F(HostTest, RefusesTegraAndWsl) {
  EXPECT_EQ(refusal(read_platform(fs)), std::nullopt);
  put("/sys/devices/soc0/family", "Tegra\n");
  EXPECT_EQ(read_platform(fs), Platform::kTegra);
  EXPECT_THAT(refusal(Platform::kTegra)->what, HasSubstr("Tegra"));
  put("/dev/dxg", "");
  EXPECT_EQ(read_platform(fs), Platform::kWsl);
  EXPECT_THAT(refusal(Platform::kWsl)->message(), HasSubstr("WSL"));
}

TEST_F(HostTest, OtherSignsOfTegra) {
  put("/proc/device-tree/compatible", std::string("nvidia,p3737\0nvidia,tegra234", 28));
  EXPECT_EQ(read_platform(fs), Platform::kTegra);
}

}  // namespace
}  // namespace tranche::host::host_reader_test
