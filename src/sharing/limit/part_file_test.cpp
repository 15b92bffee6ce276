#include "limit/part_file.h"

#include <gtest/gtest.h>

namespace tranche::limit::part_file_test {
namespace {

TenantLimits two_devices(Enforcement enforcement) {
  return {.id = "t",
          .resource = "nvidia.com/gpu",
          .enforcement = enforcement,
          .devices = {{.uuid = "GPU-1", .memory = Bytes{4026531840}},
                      {.uuid = "MIG-2", .permille = 250}}};
}

struct Case {
  const char* name;
  Enforcement enforcement;
  const char* text;
};
constexpr const char* kParts = "tranche-part/v1\nGPU-1 4026531840\nMIG-2 all\n";
constexpr const char* kNone = "tranche-part/v1\n";

TEST(PartFile, HasALineForEachDeviceThatIsLimited) {
  for (const Case& one :
       {Case{"strict", Enforcement::kStrict, kParts},
        Case{"elastic: what is relied upon", Enforcement::kElastic, kParts},
        Case{"account", Enforcement::kAccount, kNone}, Case{"off", Enforcement::kOff, kNone}}) {
    EXPECT_EQ(part_file_of(two_devices(one.enforcement)), one.text) << one.name;
  }
}

TEST(PartFile, BorrowableMemoryIsNotShown) {
  auto limits = two_devices(Enforcement::kElastic);
  limits.devices[0].borrowing = Borrowing{.hard = Bytes{8 << 20}, .device = Bytes{16 << 20}};
  EXPECT_EQ(part_file_of(limits), kParts);
}

}  // namespace
}  // namespace tranche::limit::part_file_test
