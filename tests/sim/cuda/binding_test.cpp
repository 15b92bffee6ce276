// Memory that arrays and multicast objects hold: it outlives its handles and mappings.

#include "sim/cuda/support.h"
#include "sim/gpu/memory.h"

namespace tranche::sim::cuda::test::binding_test {
namespace {

constexpr std::uint64_t kBytes = 32 * kMiB;
constexpr std::uint64_t kMs = 1'000'000;

CUmemAllocationProp on_device(int device, unsigned short usage = 0) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  properties.allocFlags.usage = usage;
  return properties;
}

CUarrayMapInfo tile(CUarray array, CUmemOperationType operation,
                    CUmemGenericAllocationHandle handle = 0) {
  CUarrayMapInfo info = {};
  info.resourceType = CU_RESOURCE_TYPE_ARRAY;
  info.resource.array = array;
  info.subresource.sparseLevel = {.extentWidth = 128, .extentHeight = 128, .extentDepth = 1};
  info.memOperationType = operation;
  info.memHandle.memHandle = handle;
  info.deviceBitMask = 1;
  return info;
}

TEST(CudaBinding, ATileKeepsItsMemoryUntilTheStreamUnmapsIt) {
  const VirtualWorld world("l20");
  const auto sim = world.open();
  in_program([&] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    const std::uint64_t before = memory_use(*sim, 0, kNone).used;
    const CUDA_ARRAY3D_DESCRIPTOR d{8192, 8192, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE};
    CUarray array = nullptr;
    ASSERT_EQ(program.cuArray3DCreate_v2(&array, &d), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before) << "nothing is mapped";
    CUDA_ARRAY_SPARSE_PROPERTIES told = {};
    EXPECT_EQ(program.cuArrayGetSparseProperties(&told, array), CUDA_SUCCESS);
    EXPECT_EQ(told.tileExtent.width * told.tileExtent.height * 4, 65536U);
    CUmemGenericAllocationHandle plain = 0;
    CUmemGenericAllocationHandle pool = 0;
    const auto of_plain = on_device(0);
    const auto of_pool = on_device(0, 1);
    ASSERT_EQ(program.cuMemCreate(&plain, kBytes, &of_plain, 0), CUDA_SUCCESS);
    ASSERT_EQ(program.cuMemCreate(&pool, kBytes, &of_pool, 0), CUDA_SUCCESS);
    CUarrayMapInfo wrong = tile(array, CU_MEM_OPERATION_TYPE_MAP, plain);
    EXPECT_EQ(program.cuMemMapArrayAsync(&wrong, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuMemRelease(plain), CUDA_SUCCESS);
    CUarrayMapInfo map = tile(array, CU_MEM_OPERATION_TYPE_MAP, pool);
    EXPECT_EQ(program.cuMemMapArrayAsync(&map, 1, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemRelease(pool), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before + kBytes);
    program.spin(spin, kMs);
    CUarrayMapInfo unmap = tile(array, CU_MEM_OPERATION_TYPE_UNMAP);
    EXPECT_EQ(program.cuMemMapArrayAsync(&unmap, 1, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before + kBytes) << "the stream is not there yet";
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before);
    ASSERT_EQ(program.cuMemCreate(&pool, kBytes, &of_pool, 0), CUDA_SUCCESS);
    map = tile(array, CU_MEM_OPERATION_TYPE_MAP, pool);
    EXPECT_EQ(program.cuMemMapArrayAsync(&map, 1, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemRelease(pool), CUDA_SUCCESS);
    EXPECT_EQ(program.cuArrayDestroy(array), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before) << "the array took it along";
  });
}

TEST(CudaBinding, AMulticastObjectKeepsWhatIsBound) {
  const World world("h200");
  const auto sim = world.open();
  in_program([&] {
    Program program;
    int can = 0;
    EXPECT_EQ(program.cuDeviceGetAttribute(&can, 132, 0), CUDA_SUCCESS);
    EXPECT_EQ(can, 1);
    const std::uint64_t before = memory_use(*sim, 0, kNone).used;
    const CUmulticastObjectProp wanted = {.numDevices = 1, .size = 4 * kBytes};
    CUmemGenericAllocationHandle group = 0;
    CUmemGenericAllocationHandle one = 0;
    CUmemGenericAllocationHandle two = 0;
    CUdeviceptr address = 0;
    const auto properties = on_device(0);
    ASSERT_EQ(program.cuMulticastCreate(&group, &wanted), CUDA_SUCCESS);
    ASSERT_EQ(program.cuMemCreate(&one, kBytes, &properties, 0), CUDA_SUCCESS);
    ASSERT_EQ(program.cuMemCreate(&two, kBytes, &properties, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMulticastBindMem(group, 0, one, 0, kBytes, 0), CUDA_ERROR_INVALID_VALUE)
        << "no device yet";
    EXPECT_EQ(program.cuMulticastAddDevice(group, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMulticastAddDevice(group, 1), CUDA_ERROR_INVALID_VALUE) << "it has all";
    EXPECT_EQ(program.cuMulticastBindMem(group, 0, one, 0, kBytes, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMulticastBindMem(group, 0, two, 0, kBytes, 0), CUDA_ERROR_INVALID_VALUE)
        << "bound already";
    ASSERT_EQ(program.cuMemAddressReserve(&address, kBytes, 0, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(program.cuMemMap(address, kBytes, 0, two, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMulticastBindAddr(group, kBytes, address, kBytes, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemUnmap(address, kBytes), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemRelease(one), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemRelease(two), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before + 2 * kBytes);
    EXPECT_EQ(program.cuMulticastUnbind(group, 0, 0, kBytes), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before + kBytes);
    EXPECT_EQ(program.cuMemRelease(group), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before);
  });
}

TEST(CudaBinding, WithoutSwitchesThereIsNoMulticast) {
  const World world("l20");
  in_program([] {
    Program program;
    CUmemGenericAllocationHandle group = 0;
    const CUmulticastObjectProp wanted = {.numDevices = 1, .size = kBytes};
    EXPECT_EQ(program.cuMulticastCreate(&group, &wanted), CUDA_ERROR_NOT_SUPPORTED);
  });
}

}  // namespace
}  // namespace tranche::sim::cuda::test::binding_test
