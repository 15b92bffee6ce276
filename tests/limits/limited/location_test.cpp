// Memory of a device, however its place and size are written.

#include <gtest/gtest.h>

#include "limits/limited/container.h"

namespace tranche::test::location_test {
namespace {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using sim::cuda::test::in_program;
using sim::cuda::test::Program;
using sim::test::World;

constexpr std::uint64_t kLimit = 512 * kMiB;

// Device 0, locality domain 1: two bytes in place of the number.
constexpr CUmemLocation kDomain{CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN, 0x0100};

TEST(Location, ALocalityDomainsMemoryIsTheDevices) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = kDomain;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(program.cuMemCreate(&handle, 2 * kLimit, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(program.cuMemCreate(&handle, kLimit, &properties, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemRelease(handle), CUDA_SUCCESS);
    CUmemPoolProps of_pool{};
    of_pool.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    of_pool.location = kDomain;
    CUmemoryPool pool = nullptr;
    CUdeviceptr address = 0;
    ASSERT_EQ(program.cuMemPoolCreate(&pool, &of_pool), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemAllocFromPoolAsync(&address, 2 * kLimit, pool, nullptr),
              CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(program.cuMemAllocFromPoolAsync(&address, kLimit, pool, nullptr), CUDA_SUCCESS);
  });
}

TEST(Location, SizesThatOverflowAreRefusedAndChargeNothing) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    CUdeviceptr address = 0;
    std::size_t pitch = 0;
    for (const std::size_t width :
         {std::size_t{1} << 62U, ~std::size_t{0}, ~std::size_t{0} - 512}) {
      EXPECT_NE(program.cuMemAllocPitch_v2(&address, &pitch, width, 4, 4), CUDA_SUCCESS) << width;
    }
    CUarray array = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR d{
        std::size_t{1} << 31U, std::size_t{1} << 31U, 16, CU_AD_FORMAT_HALF, 1, 0};
    EXPECT_NE(program.cuArray3DCreate_v2(&array, &d), CUDA_SUCCESS);
    EXPECT_NE(program.cuMemAllocAsync(&address, ~std::size_t{0} - kMiB, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemAlloc_v2(&address, kLimit), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace tranche::test::location_test
