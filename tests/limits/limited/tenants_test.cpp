// A container with many tenants: all are kept, and none is ignored.

#include <gtest/gtest.h>

#include <vector>

#include "fmt/format.h"
#include "limits/limited/container.h"

namespace tranche::test::tenants_test {
namespace {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using sim::cuda::test::in_program;
using sim::cuda::test::Program;
using sim::test::World;

constexpr std::uint64_t kLimit = 64 * kMiB;

// One tenant for each GPU of the machine, in turn, and with only a few GPUs one without a device.
std::vector<limit::TenantLimits> tenants_of(const World& world, unsigned count) {
  std::vector<limit::TenantLimits> tenants;
  for (unsigned i = 0; i < count; ++i) {
    auto limits = part_of(world, kLimit);
    limits.id = fmt::format("tenant{}", i);
    limits.devices[0].uuid = uuid_of(world, i % 16);
    tenants.push_back(std::move(limits));
  }
  return tenants;
}

CUresult allocate_on(Program& program, int device, std::uint64_t bytes) {
  CUcontext context = nullptr;
  EXPECT_EQ(program.cuCtxCreate_v2(&context, 0, device), CUDA_SUCCESS);
  CUdeviceptr address = 0;
  return program.cuMemAlloc_v2(&address, bytes);
}

TEST(ManyTenants, EachOfSixteenIsHeldToItsPart) {
  const World world("gpus-16");
  const Container container(tenants_of(world, 16));
  in_program([] {
    Program program;
    for (int device = 0; device < 16; ++device) {
      EXPECT_EQ(allocate_on(program, device, kLimit + kMiB), CUDA_ERROR_OUT_OF_MEMORY) << device;
      EXPECT_EQ(allocate_on(program, device, kLimit), CUDA_SUCCESS) << device;
    }
  });
}

// Which of them are kept is random; the others' devices are refused, not unlimited.
TEST(ManyTenants, BeyondSixteenMemoryIsRefused) {
  const World world("gpus-16");
  auto tenants = tenants_of(world, 17);
  const Container container(std::move(tenants));
  in_program([] {
    Program program;
    for (int device = 0; device < 16; ++device) {
      EXPECT_EQ(allocate_on(program, device, kLimit + kMiB), CUDA_ERROR_OUT_OF_MEMORY) << device;
    }
  });
}

}  // namespace
}  // namespace tranche::test::tenants_test
