// Rows, layers, arrays, pools, mappings, sharing: the less plain ways to have memory.

#include <fcntl.h>

#include <numeric>

#include "sim/cuda/support.h"
#include "sim/gpu/memory.h"

namespace tranche::sim::cuda::test::layout_test {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

TEST(CudaCopy, RowsBetweenPitches) {
  const World world("l20");
  in_program([] {
    Program program;
    const CUdeviceptr device = program.allocate(100 * 64);
    std::vector<unsigned char> from(30 * 10);
    std::iota(from.begin(), from.end(), 0);
    std::vector<unsigned char> to(20 * 10);
    // Ten bytes of each of ten rows, from the sixth on, into rows of 64.
    CUDA_MEMCPY2D up = {.srcXInBytes = 5,
                        .srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = from.data(),
                        .srcPitch = 30,
                        .dstXInBytes = 3,
                        .dstY = 2,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = device,
                        .dstPitch = 64,
                        .WidthInBytes = 10,
                        .Height = 10};
    EXPECT_EQ(program.cuMemcpy2D_v2(&up), CUDA_SUCCESS);
    const CUDA_MEMCPY2D down = {.srcXInBytes = 3,
                                .srcY = 2,
                                .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                                .srcDevice = device,
                                .srcPitch = 64,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = to.data(),
                                .dstPitch = 20,
                                .WidthInBytes = 10,
                                .Height = 10};
    EXPECT_EQ(program.cuMemcpy2D_v2(&down), CUDA_SUCCESS);
    for (std::size_t row = 0; row < 10; ++row) {
      for (std::size_t x = 0; x < 10; ++x) EXPECT_EQ(to[row * 20 + x], from[row * 30 + 5 + x]);
      EXPECT_EQ(to[row * 20 + 10], 0);
    }
    up.dstPitch = 5;
    EXPECT_EQ(program.cuMemcpy2D_v2(&up), CUDA_ERROR_INVALID_VALUE);
    up.dstPitch = 64;
    up.dstY = 95;
    EXPECT_EQ(program.cuMemcpy2D_v2(&up), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuMemsetD2D16_v2(device, 64, 0x1234, 4, 3), CUDA_SUCCESS);
    std::array<std::uint16_t, 64> row = {};
    EXPECT_EQ(program.cuMemcpyDtoH_v2(row.data(), device + 128, 64), CUDA_SUCCESS);
    EXPECT_EQ(row[3], 0x1234);
    EXPECT_NE(row[4], 0x1234);
  });
}

TEST(CudaArray, KeepsTexelsAndCostsMemory) {
  const World world("l20");
  const auto sim = world.open();
  in_program([&] {
    Program program;
    const std::uint64_t before = memory_use(*sim, 0, kNone).used;
    const CUDA_ARRAY_DESCRIPTOR wanted = {
        .Width = 1024, .Height = 2048, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4};
    CUarray array = nullptr;
    ASSERT_EQ(program.cuArrayCreate_v2(&array, &wanted), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before + 32 * kMiB);
    std::vector<float> texels(4096);
    std::iota(texels.begin(), texels.end(), 0.5F);
    std::vector<float> back(4096);
    EXPECT_EQ(program.cuMemcpyHtoA_v2(array, 0, texels.data(), 16384), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemcpyAtoH_v2(back.data(), array, 0, 16384), CUDA_SUCCESS);
    EXPECT_EQ(back, texels);
    CUDA_ARRAY_DESCRIPTOR told = {};
    EXPECT_EQ(program.cuArrayGetDescriptor_v2(&told, array), CUDA_SUCCESS);
    EXPECT_EQ(told.Height, 2048U);
    EXPECT_EQ(program.cuArrayDestroy(array), CUDA_SUCCESS);
    EXPECT_EQ(program.cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before);
    const CUDA_ARRAY3D_DESCRIPTOR huge = {.Width = 100000,
                                          .Height = 10000,
                                          .Depth = 100,
                                          .Format = CU_AD_FORMAT_FLOAT,
                                          .NumChannels = 1};
    EXPECT_EQ(program.cuArray3DCreate_v2(&array, &huge), CUDA_ERROR_OUT_OF_MEMORY);
    const CUDA_ARRAY3D_DESCRIPTOR square = {
        .Width = 1024, .Height = 1024, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
    CUmipmappedArray mipmap = nullptr;
    ASSERT_EQ(program.cuMipmappedArrayCreate(&mipmap, &square, 11), CUDA_SUCCESS);
    CUarray level = nullptr;
    EXPECT_EQ(program.cuMipmappedArrayGetLevel(&level, mipmap, 3), CUDA_SUCCESS);
    EXPECT_EQ(program.cuArrayGetDescriptor_v2(&told, level), CUDA_SUCCESS);
    EXPECT_EQ(told.Width, 128U);
    EXPECT_EQ(program.cuMipmappedArrayGetLevel(&level, mipmap, 11), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuMipmappedArrayDestroy(mipmap), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before);
  });
}

struct PoolProgram : Program {
  CUmemoryPool pool() {
    CUmemoryPool found = nullptr;
    EXPECT_EQ(cuDeviceGetDefaultMemPool(&found, 0), CUDA_SUCCESS);
    return found;
  }
  std::uint64_t attribute(CUmemoryPool of, CUmemPool_attribute which) {
    std::uint64_t value = 0;
    EXPECT_EQ(cuMemPoolGetAttribute(of, which, &value), CUDA_SUCCESS);
    return value;
  }
};

TEST(CudaPool, MemoryIsFreedInStreamOrder) {
  const VirtualWorld world("l20");
  in_program([] {
    PoolProgram program;
    const CUfunction spin = program.function(kSpin, "spin");
    const CUstream stream = program.stream();
    const CUmemoryPool pool = program.pool();
    CUdeviceptr first = 0;
    CUdeviceptr second = 0;
    ASSERT_EQ(program.cuMemAllocAsync(&first, 10 * kMiB, stream), CUDA_SUCCESS);
    EXPECT_EQ(program.attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 10 * kMiB);
    program.spin(spin, kMs, stream);
    EXPECT_EQ(program.cuMemFreeAsync(first, stream), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemFreeAsync(first, stream), CUDA_ERROR_INVALID_VALUE);
    // The stream has not reached the free, so it is still in use; only the stream itself may reuse
    // it.
    EXPECT_EQ(program.attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 10 * kMiB);
    ASSERT_EQ(program.cuMemAllocAsync(&second, 10 * kMiB, stream), CUDA_SUCCESS);
    EXPECT_EQ(second, first);
    EXPECT_EQ(program.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(program.attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 10 * kMiB);
    EXPECT_EQ(program.cuMemsetD8_v2(second, 1, 10 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemFreeAsync(second, stream), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(program.attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0U);
    EXPECT_EQ(program.attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 10 * kMiB);
    EXPECT_EQ(program.cuMemsetD8_v2(second, 1, 1), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(CudaPool, KeepsPagesUpToItsThreshold) {
  const VirtualWorld world("l20");
  const auto sim = world.open();
  in_program([&] {
    PoolProgram program;
    const std::uint64_t before = memory_use(*sim, 0, kNone).used;
    const CUmemoryPool pool = program.pool();
    std::uint64_t threshold = 100 * kMiB;
    const auto use = [&] {
      CUdeviceptr address = 0;
      EXPECT_EQ(program.cuMemAllocAsync(&address, 64 * kMiB, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(program.cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(program.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    };
    use();
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before);
    EXPECT_EQ(program.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold),
              CUDA_SUCCESS);
    use();
    EXPECT_EQ(program.attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 64 * kMiB);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before + 64 * kMiB);
    // Unused memory is released before an allocation fails.
    const CUdeviceptr all = program.allocate(program.free_bytes() + 64 * kMiB);
    EXPECT_EQ(program.attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0U);
    EXPECT_EQ(program.cuMemFree_v2(all), CUDA_SUCCESS);
    use();
    EXPECT_EQ(program.cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before);
  });
}

TEST(CudaPool, MadeByTheProgram) {
  const VirtualWorld world("l20");
  in_program([] {
    PoolProgram program;
    CUmemPoolProps wanted = {};
    wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    wanted.maxSize = 32 * kMiB;
    CUmemoryPool pool = nullptr;
    ASSERT_EQ(program.cuMemPoolCreate(&pool, &wanted), CUDA_SUCCESS);
    CUdeviceptr address = 0;
    EXPECT_EQ(program.cuMemAllocFromPoolAsync(&address, 64 * kMiB, pool, nullptr),
              CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(program.cuMemAllocFromPoolAsync(&address, 16 * kMiB, pool, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemFree_v2(address), CUDA_SUCCESS);
    // cuMemAlloc's memory may be freed in order, too.
    const CUdeviceptr plain = program.allocate(kMiB);
    EXPECT_EQ(program.cuMemFreeAsync(plain, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemFree_v2(plain), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuMemPoolDestroy(pool), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemAllocFromPoolAsync(&address, 1, pool, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuMemPoolDestroy(program.pool()), CUDA_ERROR_INVALID_VALUE);
  });
}

// Since CUDA 13 a location may be the host's, whose memory is not the GPU's.
TEST(CudaPool, OfTheHostTakesNothingOfTheGpu) {
  const World world("l20");
  const auto sim = world.open();
  in_program([&] {
    PoolProgram program;
    const std::uint64_t before = memory_use(*sim, 0, kNone).used;
    for (CUmemLocation location : {CUmemLocation{CU_MEM_LOCATION_TYPE_HOST, 0},
                                   CUmemLocation{CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}}) {
      CUmemPoolProps wanted = {};
      wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
      wanted.location = location;
      wanted.maxSize = 64 * kMiB;
      CUmemoryPool made = nullptr;
      CUmemoryPool found = nullptr;
      CUmemoryPool again = nullptr;
      CUdeviceptr address = 0;
      ASSERT_EQ(program.cuMemPoolCreate(&made, &wanted), CUDA_SUCCESS);
      ASSERT_EQ(program.cuMemGetDefaultMemPool(&found, &location, CU_MEM_ALLOCATION_TYPE_PINNED),
                CUDA_SUCCESS);
      EXPECT_EQ(program.cuMemGetMemPool(&again, &location, CU_MEM_ALLOCATION_TYPE_PINNED),
                CUDA_SUCCESS);
      EXPECT_EQ(again, found);
      EXPECT_EQ(program.cuMemAllocFromPoolAsync(&address, 65 * kMiB, made, nullptr),
                CUDA_ERROR_OUT_OF_MEMORY);
      for (CUmemoryPool pool : {made, found}) {
        ASSERT_EQ(program.cuMemAllocFromPoolAsync(&address, 8 * kMiB, pool, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(program.attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 8 * kMiB);
        EXPECT_EQ(program.cuMemsetD8_v2(address, 7, 8 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(*reinterpret_cast<unsigned char*>(address), 7);
        EXPECT_EQ(memory_use(*sim, 0, kNone).used, before);
        EXPECT_EQ(program.cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
        EXPECT_EQ(program.attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0U);
      }
      EXPECT_EQ(program.cuMemPoolDestroy(found), CUDA_ERROR_INVALID_VALUE);
      EXPECT_EQ(program.cuMemPoolDestroy(made), CUDA_SUCCESS);
    }
    CUmemLocation on_device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemoryPool found = nullptr;
    EXPECT_EQ(program.cuMemGetDefaultMemPool(&found, &on_device, CU_MEM_ALLOCATION_TYPE_PINNED),
              CUDA_SUCCESS);
    EXPECT_EQ(found, program.pool());
  });
}

CUmemAllocationProp on_device(CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_NONE) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = type;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return properties;
}
constexpr CUmemAccessDesc kReadWrite = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                        CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

TEST(CudaVirtualMemory, MappingsAlias) {
  const World world("l20");
  const auto sim = world.open();
  in_program([&] {
    Program program;
    const std::uint64_t before = memory_use(*sim, 0, kNone).used;
    const auto properties = on_device();
    std::size_t page = 0;
    EXPECT_EQ(
        program.cuMemGetAllocationGranularity(&page, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        CUDA_SUCCESS);
    EXPECT_EQ(page, 2 * kMiB);
    CUmemGenericAllocationHandle a = 0;
    CUmemGenericAllocationHandle b = 0;
    EXPECT_EQ(program.cuMemCreate(&a, page + 1, &properties, 0), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(program.cuMemCreate(&a, page, &properties, 0), CUDA_SUCCESS);
    ASSERT_EQ(program.cuMemCreate(&b, page, &properties, 0), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before + 2 * page);
    CUdeviceptr range = 0;
    ASSERT_EQ(program.cuMemAddressReserve(&range, 8 * page, 0, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before + 2 * page);
    // a b a: the first and the last page are the same memory.
    EXPECT_EQ(program.cuMemMap(range, page, 0, a, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemMap(range, page, 0, a, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuMemMap(range + page, page, 0, b, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemMap(range + 2 * page, page, 0, a, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemMap(range + 100 * page, page, 0, a, 0), CUDA_ERROR_INVALID_VALUE);
    int word = 77;
    EXPECT_EQ(program.cuMemcpyHtoD_v2(range, &word, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuMemSetAccess(range, 3 * page, &kReadWrite, 1), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemcpyHtoD_v2(range + 100, &word, 4), CUDA_SUCCESS);
    word = 0;
    EXPECT_EQ(program.cuMemcpyDtoH_v2(&word, range + 2 * page + 100, 4), CUDA_SUCCESS);
    EXPECT_EQ(word, 77);
    // One copy over all three.
    std::vector<unsigned char> bytes(3 * page);
    EXPECT_EQ(program.cuMemsetD8_v2(range, 3, 3 * page), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemcpyDtoH_v2(bytes.data(), range, 3 * page), CUDA_SUCCESS);
    EXPECT_EQ(bytes[page + 5], 3);
    // The memory lives as long as anything holds it.
    EXPECT_EQ(program.cuMemRelease(a), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemRelease(b), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemRelease(b), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before + 2 * page);
    CUmemGenericAllocationHandle again = 0;
    EXPECT_EQ(program.cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range + page)),
              CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemAddressFree(range, 8 * page), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuMemUnmap(range, 3 * page), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before + page);
    EXPECT_EQ(program.cuMemRelease(again), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before);
    EXPECT_EQ(program.cuMemAddressFree(range, 8 * page), CUDA_SUCCESS);
  });
}

TEST(CudaVirtualMemory, RunsOut) {
  const World world("t4");
  in_program([] {
    Program program;
    const auto properties = on_device();
    CUmemGenericAllocationHandle handle = 0;
    const std::size_t free = program.free_bytes();
    EXPECT_EQ(program.cuMemCreate(&handle, (free / (2 * kMiB) + 1) * 2 * kMiB, &properties, 0),
              CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(program.cuMemCreate(&handle, free / (2 * kMiB) * 2 * kMiB, &properties, 0),
              CUDA_SUCCESS);
    CUdeviceptr address = 0;
    EXPECT_EQ(program.cuMemAlloc_v2(&address, 2 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  });
}

// A descriptor goes to another process, which sees the same bytes; the maker is charged.
TEST(CudaSharing, ByDescriptor) {
  const World world("l20");
  const auto sim = world.open();
  std::array<int, 2> go = {};
  ASSERT_EQ(::pipe(go.data()), 0);
  in_program([&] {
    // The importer starts before this process has a driver, and gets the descriptor through /proc.
    std::array<int, 2> fds = {};
    ASSERT_EQ(::pipe(fds.data()), 0);
    const pid_t maker = ::getpid();
    const pid_t importer = start([&] {
      int fd = -1;
      ASSERT_EQ(::read(fds[0], &fd, sizeof fd), static_cast<ssize_t>(sizeof fd));
      const std::string path = "/proc/" + std::to_string(maker) + "/fd/" + std::to_string(fd);
      const int own = ::open(path.c_str(), O_RDWR);
      ASSERT_GE(own, 0) << path;
      Program program;
      CUmemGenericAllocationHandle handle = 0;
      EXPECT_EQ(program.cuMemImportFromShareableHandle(&handle,
                                                       reinterpret_cast<void*>(std::intptr_t{own}),
                                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                CUDA_SUCCESS);
      CUdeviceptr range = 0;
      EXPECT_EQ(program.cuMemAddressReserve(&range, 2 * kMiB, 0, 0, 0), CUDA_SUCCESS);
      EXPECT_EQ(program.cuMemMap(range, 2 * kMiB, 0, handle, 0), CUDA_SUCCESS);
      EXPECT_EQ(program.cuMemSetAccess(range, 2 * kMiB, &kReadWrite, 1), CUDA_SUCCESS);
      int word = 0;
      EXPECT_EQ(program.cuMemcpyDtoH_v2(&word, range, 4), CUDA_SUCCESS);
      EXPECT_EQ(word, 4711);
      // The same as external memory.
      CUDA_EXTERNAL_MEMORY_HANDLE_DESC wanted = {};
      wanted.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
      wanted.handle.fd = own;
      wanted.size = 2 * kMiB;
      CUexternalMemory external = nullptr;
      EXPECT_EQ(program.cuImportExternalMemory(&external, &wanted), CUDA_SUCCESS);
      const CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.offset = 4096, .size = 4096};
      CUdeviceptr buffer = 0;
      EXPECT_EQ(program.cuExternalMemoryGetMappedBuffer(&buffer, external, &part), CUDA_SUCCESS);
      EXPECT_EQ(program.cuMemsetD8_v2(buffer, 5, 4096), CUDA_SUCCESS);
      EXPECT_EQ(program.cuMemFree_v2(buffer), CUDA_SUCCESS);
      EXPECT_EQ(program.cuDestroyExternalMemory(external), CUDA_SUCCESS);
    });
    Program program;
    const auto properties = on_device(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemGenericAllocationHandle handle = 0;
    ASSERT_EQ(program.cuMemCreate(&handle, 2 * kMiB, &properties, 0), CUDA_SUCCESS);
    CUdeviceptr range = 0;
    ASSERT_EQ(program.cuMemAddressReserve(&range, 2 * kMiB, 0, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(program.cuMemMap(range, 2 * kMiB, 0, handle, 0), CUDA_SUCCESS);
    ASSERT_EQ(program.cuMemSetAccess(range, 2 * kMiB, &kReadWrite, 1), CUDA_SUCCESS);
    int word = 4711;
    EXPECT_EQ(program.cuMemcpyHtoD_v2(range, &word, 4), CUDA_SUCCESS);
    int fd = -1;
    EXPECT_EQ(program.cuMemExportToShareableHandle(&fd, handle,
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              CUDA_SUCCESS);
    const std::uint64_t used = memory_use(*sim, 0, kNone).used;
    EXPECT_EQ(::write(fds[1], &fd, sizeof fd), static_cast<ssize_t>(sizeof fd));
    expect_success(importer);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, used);
    unsigned char byte = 0;
    EXPECT_EQ(program.cuMemcpyDtoH_v2(&byte, range + 5000, 1), CUDA_SUCCESS);
    EXPECT_EQ(byte, 5);
  });
}

TEST(CudaSharing, ByIpcHandle) {
  const World world("l20");
  in_program([] {
    std::array<int, 2> handles = {};
    ASSERT_EQ(::pipe(handles.data()), 0);
    const pid_t other = start([&] {
      CUipcMemHandle handle = {};
      ASSERT_EQ(::read(handles[0], &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
      Program program;
      CUdeviceptr address = 0;
      ASSERT_EQ(program.cuIpcOpenMemHandle_v2(&address, handle, 1), CUDA_SUCCESS);
      int word = 0;
      EXPECT_EQ(program.cuMemcpyDtoH_v2(&word, address + 1000, 4), CUDA_SUCCESS);
      EXPECT_EQ(word, 99);
      EXPECT_EQ(program.cuMemsetD32_v2(address + 1000, 100, 1), CUDA_SUCCESS);
      EXPECT_EQ(program.cuMemcpyDtoH_v2(&word, address + 5000, 4), CUDA_ERROR_INVALID_VALUE);
      EXPECT_EQ(program.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
      EXPECT_EQ(program.cuIpcCloseMemHandle(address), CUDA_SUCCESS);
      EXPECT_EQ(program.cuIpcCloseMemHandle(address), CUDA_ERROR_INVALID_VALUE);
    });
    Program program;
    program.allocate(512);
    const CUdeviceptr address = program.allocate(4096);
    int word = 99;
    EXPECT_EQ(program.cuMemcpyHtoD_v2(address + 1000, &word, 4), CUDA_SUCCESS);
    CUipcMemHandle handle = {};
    EXPECT_EQ(program.cuIpcGetMemHandle(&handle, address), CUDA_SUCCESS);
    CUdeviceptr own = 0;
    EXPECT_EQ(program.cuIpcOpenMemHandle_v2(&own, handle, 1), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(::write(handles[1], &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
    expect_success(other);
    EXPECT_EQ(program.cuMemcpyDtoH_v2(&word, address + 1000, 4), CUDA_SUCCESS);
    EXPECT_EQ(word, 100);
  });
}

// TRANCHE_SIM_CUDA=constant: nothing is checked, nothing is counted.
TEST(CudaConstant, TheInnerLoopDoesNothing) {
  const World world("l20");
  const auto sim = world.open();
  ::setenv("TRANCHE_SIM_CUDA", "constant", 1);
  in_program([&] {
    Program program;
    const std::uint64_t before = memory_use(*sim, 0, kNone).used;
    CUdeviceptr a = 0;
    CUdeviceptr b = 0;
    EXPECT_EQ(program.cuMemAlloc_v2(&a, 1000), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemAllocAsync(&b, 10 * kGiB, nullptr), CUDA_SUCCESS);
    EXPECT_GE(b, a + 1000);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before);
    EXPECT_EQ(program.cuLaunchKernel(nullptr, 0, 0, 0, 0, 0, 0, 0, nullptr, nullptr, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(program.cuGraphLaunch(nullptr, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemFree_v2(a), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemcpyHtoDAsync_v2(a, nullptr, 1000, nullptr), CUDA_SUCCESS);
  });
  ::unsetenv("TRANCHE_SIM_CUDA");
  in_program([] { EXPECT_EQ(Cuda().cuGraphLaunch(nullptr, nullptr), CUDA_ERROR_NOT_INITIALIZED); });
}

}  // namespace
}  // namespace tranche::sim::cuda::test::layout_test
