#include "gpu/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/machines.h"

namespace tranche::gpu::devices_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Devices, InstancesStandForAGpuInMigModeAndTheLostAreNotThere) {
  const auto machine =
      test::machine_of({test::a100_40gb(0).mig({"1g.5gb", "2g.10gb"}), test::t4(1).lost(),
                        test::t4(2), test::a100_40gb(3).mig()});
  EXPECT_THAT(present_gpus(machine),
              ElementsAre(test::gpu_uuid(0), test::gpu_uuid(2), test::gpu_uuid(3)));
  EXPECT_THAT(present_devices(machine),
              ElementsAre(test::mig_uuid(0, 0), test::mig_uuid(0, 1), test::gpu_uuid(2)));
  EXPECT_THAT(used_devices(machine.gpus[3]), IsEmpty()) << "MIG mode without instances";
}

}  // namespace
}  // namespace tranche::gpu::devices_test
