// Memory of a device, in each form of its place and size.

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

// The host's pools, in any form: their memory is not the device's.
TEST(Location, PoolsOfTheHostAreNotCountedAndThoseOfTheDeviceAre) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    CUmemLocation locations[] = {{CU_MEM_LOCATION_TYPE_HOST, 0},
                                 {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0},
                                 {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    for (CUmemLocation& location : locations) {
      SCOPED_TRACE(location.type);
      const bool is_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
      CUmemPoolProps wanted{};
      wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
      wanted.location = location;
      CUmemoryPool made = nullptr;
      CUmemoryPool found = nullptr;
      CUmemoryPool current = nullptr;
      ASSERT_EQ(program.cuMemPoolCreate(&made, &wanted), CUDA_SUCCESS);
      ASSERT_EQ(program.cuMemGetDefaultMemPool(&found, &location, CU_MEM_ALLOCATION_TYPE_PINNED),
                CUDA_SUCCESS);
      ASSERT_EQ(program.cuMemGetMemPool(&current, &location, CU_MEM_ALLOCATION_TYPE_PINNED),
                CUDA_SUCCESS);
      for (CUmemoryPool pool : {made, found, current}) {
        CUdeviceptr address = 0;
        CUdeviceptr all = 0;
        EXPECT_EQ(program.cuMemAllocFromPoolAsync(&address, 2 * kLimit, pool, nullptr),
                  is_device ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS);
        EXPECT_EQ(program.cuMemAlloc_v2(&all, kLimit), CUDA_SUCCESS) << "all of the part is there";
        EXPECT_EQ(program.cuMemFree_v2(all), CUDA_SUCCESS);
        if (!is_device) {
          EXPECT_EQ(program.cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
        }
      }
    }
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

// If the limiter refuses nothing, sums that wrap would stay in the tenant's charges.
TEST(Location, SizesThatOverflowLeaveNothingWhereMemoryIsOnlyCounted) {
  const World world("l20");
  auto limits = part_of(world, kLimit);
  limits.enforcement = Enforcement::kAccount;
  Container container({limits});
  std::array<int, 2> go = {};
  std::array<int, 2> done = {};
  ASSERT_EQ(pipe(go.data()), 0);
  ASSERT_EQ(pipe(done.data()), 0);
  const pid_t program = sim::cuda::test::start([&] {
    Program own;
    constexpr std::size_t kHuge = ~std::size_t{0};
    CUdeviceptr address = 0;
    std::size_t pitch = 0;
    CUarray array = nullptr;
    CUmipmappedArray mipmap = nullptr;
    CUmemGenericAllocationHandle handle = 0;
    for (const std::size_t size : {kHuge, kHuge - 511, kHuge / 2 + 1, kHuge / 1024 + 1}) {
      SCOPED_TRACE(size);
      EXPECT_NE(own.cuMemAlloc_v2(&address, size), CUDA_SUCCESS);
      EXPECT_NE(own.cuMemAllocManaged(&address, size, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
      EXPECT_NE(own.cuMemAllocAsync(&address, size, nullptr), CUDA_SUCCESS);
      EXPECT_NE(own.cuMemAllocPitch_v2(&address, &pitch, size, 3, 4), CUDA_SUCCESS);
      EXPECT_NE(own.cuMemAllocPitch_v2(&address, &pitch, 3, size, 4), CUDA_SUCCESS);
      EXPECT_NE(own.cuMemAllocPitch_v2(&address, &pitch, size, size, 16), CUDA_SUCCESS);
      CUmemAllocationProp properties{};
      properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
      properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
      EXPECT_NE(own.cuMemCreate(&handle, size, &properties, 0), CUDA_SUCCESS);
      const CUDA_ARRAY_DESCRIPTOR flat{size, size, CU_AD_FORMAT_FLOAT, 4};
      EXPECT_NE(own.cuArrayCreate_v2(&array, &flat), CUDA_SUCCESS);
      const CUDA_ARRAY3D_DESCRIPTOR deep{size, size, size, CU_AD_FORMAT_FLOAT, 4, 0};
      EXPECT_NE(own.cuArray3DCreate_v2(&array, &deep), CUDA_SUCCESS);
      EXPECT_NE(own.cuMipmappedArrayCreate(&mipmap, &deep, 64), CUDA_SUCCESS);
    }
    char byte = 0;
    ASSERT_EQ(write(done[1], "1", 1), 1);
    ASSERT_EQ(read(go[0], &byte, 1), 1);
    // The limit is in force when twice as much is refused.
    EXPECT_TRUE(eventually([&] {
      const CUresult status = own.cuMemAlloc_v2(&address, 2 * kLimit);
      if (status == CUDA_SUCCESS) own.cuMemFree_v2(address);
      return status == CUDA_ERROR_OUT_OF_MEMORY;
    }));
    EXPECT_EQ(own.cuMemAlloc_v2(&address, kLimit), CUDA_SUCCESS);
    EXPECT_EQ(own.cuMemAlloc_v2(&address, kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  });
  char byte = 0;
  ASSERT_EQ(read(done[0], &byte, 1), 1);
  container.change([](limit::TenantLimits& own) { own.enforcement = Enforcement::kStrict; });
  ASSERT_EQ(write(go[1], "1", 1), 1);
  sim::cuda::test::expect_success(program);
}

}  // namespace
}  // namespace tranche::test::location_test
