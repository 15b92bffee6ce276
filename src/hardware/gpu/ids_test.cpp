#include "gpu/ids.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace tranche::gpu::ids_test {
namespace {

struct Case {
  std::string name;
  std::string text;
  std::optional<PciAddress> expected;
};

TEST(PciAddress, Parses) {
  const Case cases[] = {
      {"sysfs", "0000:3b:00.0", PciAddress{0, 0x3b, 0, 0}},
      {"nvml", "00000000:3B:00.0", PciAddress{0, 0x3b, 0, 0}},
      {"wide domain", "10000:01:1f.7", PciAddress{0x10000, 1, 0x1f, 7}},
      {"largest domain", "FFFFFFFF:ff:1F.0", PciAddress{0xffffffff, 0xff, 0x1f, 0}},
      {"empty", "", std::nullopt},
      {"no domain", "3b:00.0", std::nullopt},
      {"short domain", "000:3b:00.0", std::nullopt},
      {"long domain", "000000000:3b:00.0", std::nullopt},
      {"no function", "0000:3b:00", std::nullopt},
      {"function 8", "0000:3b:00.8", std::nullopt},
      {"device 32", "0000:3b:20.0", std::nullopt},
      {"letters", "0000:zz:00.0", std::nullopt},
      {"sign", "0000:-1:00.0", std::nullopt},
      {"tail", "0000:3b:00.0 ", std::nullopt},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(parse_pci_address(c.text), c.expected) << c.name;
  }
}

TEST(PciAddress, PrintsBothSpellingsAndReadsThemBack) {
  const PciAddress address{.domain = 0x1a, .bus = 0xb3, .device = 2, .function = 1};
  EXPECT_EQ(sysfs_name(address), "001a:b3:02.1");
  EXPECT_EQ(nvml_name(address), "0000001A:B3:02.1");
  EXPECT_EQ(parse_pci_address(sysfs_name(address)), address);
  EXPECT_EQ(parse_pci_address(nvml_name(address)), address);
}

}  // namespace
}  // namespace tranche::gpu::ids_test
