// No way to take device memory exceeds the limit, and what is released can be taken again.

#include <gtest/gtest.h>

#include "limits/limited/container.h"

namespace tranche::test::memory_test {
namespace {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using sim::cuda::test::in_program;
using sim::cuda::test::kSpin;
using sim::cuda::test::Program;
using sim::test::World;

constexpr std::uint64_t kLimit = 512 * kMiB;

// How much of the limit a family lets a program take, in steps; then everything is released, and
// the same amount can be taken again.
struct Family {
  const char* name;
  // Takes `bytes`; its handle, or 0 and the error.
  std::function<std::pair<CUresult, std::uint64_t>(Program&, std::uint64_t bytes)> take;
  std::function<CUresult(Program&, std::uint64_t handle)> free;
};

template <class Handle>
std::pair<CUresult, std::uint64_t> result(CUresult status, const Handle& handle) {
  return {status, status == CUDA_SUCCESS ? (std::uint64_t)handle : 0};  // NOLINT: pointer or number
}

CUmemAllocationProp on_device() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return properties;
}

const Family kFamilies[] = {
    {"cuMemAlloc",
     [](Program& p, std::uint64_t bytes) {
       CUdeviceptr a = 0;
       return result(p.cuMemAlloc_v2(&a, bytes), a);
     },
     [](Program& p, std::uint64_t a) { return p.cuMemFree_v2(a); }},
    {"cuMemAllocManaged",
     [](Program& p, std::uint64_t bytes) {
       CUdeviceptr a = 0;
       return result(p.cuMemAllocManaged(&a, bytes, CU_MEM_ATTACH_GLOBAL), a);
     },
     [](Program& p, std::uint64_t a) { return p.cuMemFree_v2(a); }},
    {"cuMemAllocPitch",
     [](Program& p, std::uint64_t bytes) {
       CUdeviceptr a = 0;
       std::size_t pitch = 0;
       return result(p.cuMemAllocPitch_v2(&a, &pitch, 4096, bytes / 4096, 4), a);
     },
     [](Program& p, std::uint64_t a) { return p.cuMemFree_v2(a); }},
    {"cuMemAllocAsync",
     [](Program& p, std::uint64_t bytes) {
       CUdeviceptr a = 0;
       return result(p.cuMemAllocAsync(&a, bytes, nullptr), a);
     },
     [](Program& p, std::uint64_t a) {
       const CUresult status = p.cuMemFreeAsync(a, nullptr);
       p.cuCtxSynchronize();
       return status;
     }},
    {"cuMemAllocAsyncFreedAtOnce",  // legal: the other kind of free
     [](Program& p, std::uint64_t bytes) {
       CUdeviceptr a = 0;
       return result(p.cuMemAllocAsync(&a, bytes, nullptr), a);
     },
     [](Program& p, std::uint64_t a) {
       p.cuCtxSynchronize();
       return p.cuMemFree_v2(a);
     }},
    {"cuMemAllocFreedInAStream",
     [](Program& p, std::uint64_t bytes) {
       CUdeviceptr a = 0;
       return result(p.cuMemAlloc_v2(&a, bytes), a);
     },
     [](Program& p, std::uint64_t a) { return p.cuMemFreeAsync(a, nullptr); }},
    {"cuMemCreate",
     [](Program& p, std::uint64_t bytes) {
       CUmemGenericAllocationHandle h = 0;
       const auto properties = on_device();
       return result(p.cuMemCreate(&h, bytes, &properties, 0), h);
     },
     [](Program& p, std::uint64_t h) { return p.cuMemRelease(h); }},
    {"cuArrayCreate",
     [](Program& p, std::uint64_t bytes) {
       CUarray a = nullptr;
       const CUDA_ARRAY_DESCRIPTOR d{4096, bytes / 4096 / 8, CU_AD_FORMAT_FLOAT, 2};
       return result(p.cuArrayCreate_v2(&a, &d), a);
     },
     [](Program& p, std::uint64_t a) { return p.cuArrayDestroy((CUarray)a); }},  // NOLINT
    {"cuArray3DCreate",
     [](Program& p, std::uint64_t bytes) {
       CUarray a = nullptr;
       const CUDA_ARRAY3D_DESCRIPTOR d{256, 256, bytes / 65536 / 4, CU_AD_FORMAT_HALF, 2, 0};
       return result(p.cuArray3DCreate_v2(&a, &d), a);
     },
     [](Program& p, std::uint64_t a) { return p.cuArrayDestroy((CUarray)a); }},  // NOLINT
    {"cuMipmappedArrayCreate",
     [](Program& p, std::uint64_t bytes) {
       CUmipmappedArray a = nullptr;
       const CUDA_ARRAY3D_DESCRIPTOR d{4096, bytes / 4096 / 4, 0, CU_AD_FORMAT_FLOAT, 1, 0};
       return result(p.cuMipmappedArrayCreate(&a, &d, 1), a);
     },
     [](Program& p, std::uint64_t a) {
       return p.cuMipmappedArrayDestroy((CUmipmappedArray)a);  // NOLINT
     }},
};

class EveryFamily : public testing::TestWithParam<Family> {};
INSTANTIATE_TEST_SUITE_P(LimitedMemory, EveryFamily, testing::ValuesIn(kFamilies),
                         [](const auto& family) { return std::string(family.param.name); });

TEST_P(EveryFamily, EndsAtTheLimitAndGivesBack) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    const Family& family = GetParam();
    for (int round = 0; round < 3; ++round) {
      std::vector<std::uint64_t> held;
      CUresult status = CUDA_SUCCESS;
      for (;;) {
        const auto [error, handle] = family.take(program, 64 * kMiB);
        status = error;
        if (status != CUDA_SUCCESS) break;
        held.push_back(handle);
      }
      EXPECT_EQ(status, CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(held.size(), kLimit / (64 * kMiB)) << "round " << round;
      for (const std::uint64_t handle : held) EXPECT_EQ(family.free(program, handle), CUDA_SUCCESS);
    }
  });
}

TEST(LimitedMemory, FamiliesShareOneLimit) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    for (int i = 0; i < 8; ++i) {
      const Family& family = kFamilies[static_cast<std::size_t>(i)];
      EXPECT_EQ(family.take(program, 60 * kMiB).first, CUDA_SUCCESS) << family.name;
    }
    for (const Family& family : kFamilies) {
      EXPECT_EQ(family.take(program, 64 * kMiB).first, CUDA_ERROR_OUT_OF_MEMORY) << family.name;
    }
  });
}

TEST(LimitedMemory, WhatIsMappedIsHeldThoughItsHandleWasReleased) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    const auto properties = on_device();
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr place = 0;
    ASSERT_EQ(program.cuMemAddressReserve(&place, kLimit, 0, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(program.cuMemCreate(&handle, kLimit, &properties, 0), CUDA_SUCCESS);
    ASSERT_EQ(program.cuMemMap(place, kLimit, 0, handle, 0), CUDA_SUCCESS);
    ASSERT_EQ(program.cuMemRelease(handle), CUDA_SUCCESS);
    CUdeviceptr more = 0;
    EXPECT_EQ(program.cuMemAlloc_v2(&more, kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    CUmemGenericAllocationHandle again = 0;
    ASSERT_EQ(program.cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(place)),
              CUDA_SUCCESS);
    ASSERT_EQ(program.cuMemUnmap(place, kLimit), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemAlloc_v2(&more, kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    ASSERT_EQ(program.cuMemRelease(again), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemAlloc_v2(&more, kMiB), CUDA_SUCCESS);
  });
}

TEST(LimitedMemory, APoolThatKeepsWhatWasFreedStillHoldsIt) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    CUmemoryPool pool = nullptr;
    ASSERT_EQ(program.cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
    std::uint64_t keep = ~std::uint64_t{0};
    ASSERT_EQ(program.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep),
              CUDA_SUCCESS);
    CUdeviceptr address = 0;
    ASSERT_EQ(program.cuMemAllocAsync(&address, kLimit, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(program.cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    CUdeviceptr more = 0;
    EXPECT_EQ(program.cuMemAlloc_v2(&more, 64 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    // What it keeps it may use again.
    EXPECT_EQ(program.cuMemAllocAsync(&address, kLimit / 2, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    ASSERT_EQ(program.cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemAlloc_v2(&more, 64 * kMiB), CUDA_SUCCESS);
  });
}

CUmemoryPool make_pool(Program& program, int device = 0) {
  CUmemoryPool pool = nullptr;
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  EXPECT_EQ(program.cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
  return pool;
}

TEST(LimitedMemory, WhatADestroyedPoolGaveOutIsHeldUntilItIsFreed) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    for (const bool at_once : {false, true}) {
      const CUmemoryPool pool = make_pool(program);
      CUdeviceptr kept = 0;
      CUdeviceptr freed = 0;
      ASSERT_EQ(program.cuMemAllocFromPoolAsync(&kept, kLimit / 2, pool, nullptr), CUDA_SUCCESS);
      ASSERT_EQ(program.cuMemAllocFromPoolAsync(&freed, kLimit / 4, pool, nullptr), CUDA_SUCCESS);
      ASSERT_EQ(program.cuMemFreeAsync(freed, nullptr), CUDA_SUCCESS);
      ASSERT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
      ASSERT_EQ(program.cuMemPoolDestroy(pool), CUDA_SUCCESS);
      CUdeviceptr more = 0;
      EXPECT_EQ(program.cuMemAlloc_v2(&more, kLimit / 2 + kMiB), CUDA_ERROR_OUT_OF_MEMORY);
      ASSERT_EQ(program.cuMemAlloc_v2(&more, kLimit / 2), CUDA_SUCCESS) << "the rest is back";
      EXPECT_EQ(program.cuMemFree_v2(more), CUDA_SUCCESS);
      EXPECT_EQ(at_once ? program.cuMemFree_v2(kept) : program.cuMemFreeAsync(kept, nullptr),
                CUDA_SUCCESS);
      ASSERT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
      ASSERT_EQ(program.cuMemAlloc_v2(&more, kLimit), CUDA_SUCCESS);
      EXPECT_EQ(program.cuMemFree_v2(more), CUDA_SUCCESS);
    }
  });
}

TEST(LimitedMemory, HoweverManyPoolsThereAreEachIsCounted) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    std::vector<CUmemoryPool> pools;
    for (int i = 0; i < 300; ++i) pools.push_back(make_pool(program));
    CUdeviceptr address = 0;
    EXPECT_EQ(program.cuMemAllocFromPoolAsync(&address, kLimit, pools.back(), nullptr),
              CUDA_SUCCESS);
    CUdeviceptr more = 0;
    for (const CUmemoryPool pool : pools) {
      EXPECT_EQ(program.cuMemAllocFromPoolAsync(&more, kMiB, pool, nullptr),
                CUDA_ERROR_OUT_OF_MEMORY);
    }
    EXPECT_EQ(program.cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemAllocFromPoolAsync(&more, kLimit, pools.front(), nullptr), CUDA_SUCCESS);
  });
}

// The current context is on the first device, which is in no tenant's part; the second is.
TEST(LimitedMemory, MemoryOfAnotherDeviceCountsThere) {
  const World world("a100-40gb-x4");
  auto limits = part_of(world, kLimit);
  limits.devices[0].uuid = uuid_of(world, 1);
  const Container container({limits});
  in_program([] {
    Program program;
    CUdeviceptr address = 0;
    CUmemoryPool pool = nullptr;
    ASSERT_EQ(program.cuMemAlloc_v2(&address, 4 * kLimit), CUDA_SUCCESS);
    ASSERT_EQ(program.cuDeviceGetDefaultMemPool(&pool, 1), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemAllocFromPoolAsync(&address, kLimit + kMiB, pool, nullptr),
              CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(
        program.cuMemAllocFromPoolAsync(&address, kLimit + kMiB, make_pool(program, 1), nullptr),
        CUDA_ERROR_OUT_OF_MEMORY);
    CUcontext other = nullptr;
    ASSERT_EQ(program.cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
    ASSERT_EQ(program.cuCtxSetCurrent(other), CUDA_SUCCESS);
    const CUstream stream = program.stream();
    ASSERT_EQ(program.cuCtxSetCurrent(program.context), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemAllocAsync(&address, kLimit + kMiB, stream), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(program.cuMemAllocAsync(&address, kLimit, stream), CUDA_SUCCESS);
    CUmemGenericAllocationHandle handle = 0;
    auto properties = on_device();
    properties.location.id = 1;
    EXPECT_EQ(program.cuMemCreate(&handle, 2 * kMiB, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(program.cuMemAllocAsync(&address, 2 * kLimit, nullptr), CUDA_SUCCESS);
  });
}

TEST(LimitedMemory, GraphsThatAllocateAreChargedWhenTheyAreLaunched) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    const auto graph_of = [&](std::uint64_t bytes) {
      const CUstream stream = program.stream();
      CUdeviceptr address = 0;
      CUgraph graph = nullptr;
      CUgraphExec exec = nullptr;
      EXPECT_EQ(program.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
                CUDA_SUCCESS);
      EXPECT_EQ(program.cuMemAllocAsync(&address, bytes, stream), CUDA_SUCCESS);
      EXPECT_EQ(program.cuMemFreeAsync(address, stream), CUDA_SUCCESS);
      EXPECT_EQ(program.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
      EXPECT_EQ(program.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
      return exec;
    };
    const CUgraphExec small = graph_of(kLimit / 4 * 3);
    const CUgraphExec large = graph_of(kLimit * 2);
    CUdeviceptr address = 0;
    EXPECT_EQ(program.cuMemAlloc_v2(&address, kLimit), CUDA_SUCCESS) << "no graph was launched yet";
    EXPECT_EQ(program.cuGraphLaunch(small, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(program.cuMemFree_v2(address), CUDA_SUCCESS);
    EXPECT_EQ(program.cuGraphLaunch(large, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(program.cuGraphLaunch(small, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemAlloc_v2(&address, kLimit / 2), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(program.cuDeviceGraphMemTrim(0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemAlloc_v2(&address, kLimit / 2), CUDA_SUCCESS);
  });
}

// The driver frees what a context has allocated with the context itself: nobody frees it before.
TEST(LimitedMemory, WhatAContextHeldGoesWithIt) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    const auto fill = [&] {
      CUarray array = nullptr;
      CUdeviceptr address = 0;
      const CUDA_ARRAY_DESCRIPTOR d{4096, 128 * kMiB / 4096 / 8, CU_AD_FORMAT_FLOAT, 2};
      EXPECT_EQ(program.cuArrayCreate_v2(&array, &d), CUDA_SUCCESS);
      EXPECT_EQ(program.cuMemAlloc_v2(&address, 128 * kMiB), CUDA_SUCCESS);
      EXPECT_EQ(program.cuMemAllocManaged(&address, kLimit - 256 * kMiB, CU_MEM_ATTACH_GLOBAL),
                CUDA_SUCCESS);
      EXPECT_EQ(program.cuMemAlloc_v2(&address, kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    };
    for (int i = 0; i < 3; ++i) {
      CUcontext context = nullptr;
      ASSERT_EQ(program.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
      fill();
      ASSERT_EQ(program.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    }
    for (int i = 0; i < 3; ++i) {
      CUcontext context = nullptr;
      ASSERT_EQ(program.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
      ASSERT_EQ(program.cuCtxSetCurrent(context), CUDA_SUCCESS);
      fill();
      if (i != 1) {
        ASSERT_EQ(program.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
      }
      ASSERT_EQ(program.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    }
  });
}

TEST(LimitedMemory, AnotherContextsMemoryStaysCharged) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    CUdeviceptr first = program.allocate(kLimit / 2);
    CUcontext context = nullptr;
    ASSERT_EQ(program.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    ASSERT_NE(program.allocate(kLimit / 2), 0U);
    ASSERT_EQ(program.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    CUdeviceptr address = 0;
    EXPECT_EQ(program.cuMemAlloc_v2(&address, kLimit / 2 + kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(program.cuMemAlloc_v2(&address, kLimit / 2), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemFree_v2(first), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemAlloc_v2(&first, kLimit / 2), CUDA_SUCCESS);
  });
}

TEST(LimitedMemory, ErrorsAreTheDriversOwn) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    CUdeviceptr address = 0;
    EXPECT_EQ(program.cuMemAlloc_v2(&address, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuMemAlloc_v2(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuMemFree_v2(0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemFree_v2(0x1234), CUDA_ERROR_INVALID_VALUE);
    address = program.allocate(kLimit);
    EXPECT_EQ(program.cuMemFree_v2(address), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
    EXPECT_NE(program.allocate(kLimit), 0U) << "a free that failed gave nothing back";
  });
}

TEST(LimitedMemory, EveryQuestionIsAnsweredWithTheTenantsPart) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    std::size_t free = 0;
    std::size_t total = 0;
    program.allocate(100 * kMiB);
    EXPECT_EQ(program.cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
    EXPECT_EQ(total, kLimit);
    EXPECT_EQ(free, kLimit - 100 * kMiB);
    EXPECT_EQ(program.cuDeviceTotalMem_v2(&total, 0), CUDA_SUCCESS);
    EXPECT_EQ(total, kLimit);
    total = 0;
    EXPECT_EQ(program.cuMemGetInfo_v2(nullptr, &total), CUDA_SUCCESS);
    EXPECT_EQ(total, kLimit);
    sim::test::Nvml nvml;
    sim::abi::nvmlDevice_t device = nullptr;
    ASSERT_EQ(nvml("nvmlDeviceGetHandleByIndex_v2", 0U, &device), sim::abi::NVML_SUCCESS);
    sim::abi::nvmlMemory_t memory{};
    ASSERT_EQ(nvml("nvmlDeviceGetMemoryInfo", device, &memory), sim::abi::NVML_SUCCESS);
    EXPECT_EQ(memory.total, kLimit);
    EXPECT_EQ(memory.used, 100 * kMiB);
    EXPECT_EQ(memory.free, kLimit - 100 * kMiB);
  });
}

// Each of two tenants of one GPU sees its own processes, and their work.
TEST(LimitedMemory, ProcessesOfOthersAreNotShown) {
  const World world("l20");
  int ready[2];
  int end[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(end), 0);
  const auto work = [](Program& program) {
    EXPECT_NE(program.allocate(kMiB), 0U);
    EXPECT_EQ(program.spin(program.function(kSpin, "spin"), 300'000'000), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
  };
  const Container container({part_of(world, kLimit)});
  const pid_t neighbour = sim::cuda::test::start([&] {
    Program program;
    work(program);
    char c = 0;
    EXPECT_EQ(write(ready[1], "1", 1), 1);
    EXPECT_EQ(read(end[0], &c, 1), 1);
  });
  char c = 0;
  ASSERT_EQ(read(ready[0], &c, 1), 1);
  {
    const Container other({part_of(world, kLimit)});
    in_program([&] {
      using namespace sim::abi;  // NOLINT(google-build-using-namespace)
      Program program;
      work(program);
      sim::test::Nvml nvml;
      nvmlDevice_t device = nullptr;
      ASSERT_EQ(nvml("nvmlDeviceGetHandleByIndex_v2", 0U, &device), NVML_SUCCESS);
      const auto own = static_cast<unsigned>(getpid());
      nvmlProcessInfo_v2_t processes[8] = {};
      unsigned count = 8;
      ASSERT_EQ(nvml("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, processes),
                NVML_SUCCESS);
      ASSERT_EQ(count, 1U);
      EXPECT_EQ(processes[0].pid, own);
      nvmlProcessUtilizationSample_t samples[64] = {};
      EXPECT_TRUE(eventually([&] {
        count = 64;
        return nvml("nvmlDeviceGetProcessUtilization", device, samples, &count, 0ULL) ==
               NVML_SUCCESS;
      }));
      for (unsigned i = 0; i < count; ++i) EXPECT_EQ(samples[i].pid, own);
      nvmlProcessUtilizationInfo_v1_t more[64] = {};
      nvmlProcessesUtilizationInfo_v1_t list{
          .version = sim::abi::struct_version<nvmlProcessesUtilizationInfo_v1_t>(1),
          .processSamplesCount = 64,
          .lastSeenTimeStamp = 0,
          .procUtilArray = more};
      ASSERT_EQ(nvml("nvmlDeviceGetProcessesUtilizationInfo", device, &list), NVML_SUCCESS);
      ASSERT_GT(list.processSamplesCount, 0U);
      for (unsigned i = 0; i < list.processSamplesCount; ++i) EXPECT_EQ(more[i].pid, own);
      nvmlProcessDetail_v1_t details[8] = {};
      nvmlProcessDetailList_v1_t all{
          .version = sim::abi::struct_version<nvmlProcessDetailList_v1_t>(1),
          .mode = 3,  // of every kind
          .numProcArrayEntries = 8,
          .procArray = details};
      ASSERT_EQ(nvml("nvmlDeviceGetRunningProcessDetailList", device, &all), NVML_SUCCESS);
      ASSERT_EQ(all.numProcArrayEntries, 1U);
      EXPECT_EQ(details[0].pid, own);
      unsigned pids[8] = {};
      count = 8;
      ASSERT_EQ(nvml("nvmlDeviceGetAccountingPids", device, &count, pids), NVML_SUCCESS);
      ASSERT_EQ(count, 1U);
      EXPECT_EQ(pids[0], own);
      nvmlAccountingStats_t account{};
      const auto other_pid = static_cast<unsigned>(neighbour);
      EXPECT_EQ(nvml("nvmlDeviceGetAccountingStats", device, own, &account), NVML_SUCCESS);
      EXPECT_EQ(nvml("nvmlDeviceGetAccountingStats", device, other_pid, &account),
                NVML_ERROR_NOT_FOUND);
      nvmlAccountingStats_v2_t newer{.pid = own};
      EXPECT_EQ(nvml("nvmlDeviceGetAccountingStats_v2", device, &newer), NVML_SUCCESS);
      newer.pid = other_pid;
      EXPECT_EQ(nvml("nvmlDeviceGetAccountingStats_v2", device, &newer), NVML_ERROR_NOT_FOUND);
    });
  }
  ASSERT_EQ(write(end[1], "1", 1), 1);
  sim::cuda::test::expect_success(neighbour);
}

TEST(LimitedMemory, AChangedLimitHoldsWithoutARestart) {
  const World world("l20");
  Container container({part_of(world, kLimit)});
  int to_program[2];
  int from_program[2];
  ASSERT_EQ(pipe(to_program), 0);
  ASSERT_EQ(pipe(from_program), 0);
  const pid_t program = sim::cuda::test::start([&] {
    Program p;
    EXPECT_NE(p.allocate(kLimit), 0U);
    char c = 0;
    EXPECT_EQ(write(from_program[1], "1", 1), 1);
    EXPECT_EQ(read(to_program[0], &c, 1), 1);
    EXPECT_TRUE(eventually([&] {
      CUdeviceptr address = 0;
      return p.cuMemAlloc_v2(&address, kLimit) == CUDA_SUCCESS;
    }));
  });
  char c = 0;
  ASSERT_EQ(read(from_program[0], &c, 1), 1);
  container.change(
      [](limit::TenantLimits& limits) { limits.devices[0].memory = Bytes{2 * kLimit}; });
  ASSERT_EQ(write(to_program[1], "1", 1), 1);
  sim::cuda::test::expect_success(program);
}

TEST(LimitedMemory, ProcessesOfATenantShareItsLimitAndTenantsDoNot) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  int ready[2];
  int end[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(end), 0);
  const pid_t first = sim::cuda::test::start([&] {
    Program p;
    EXPECT_NE(p.allocate(300 * kMiB), 0U);
    char c = 0;
    EXPECT_EQ(write(ready[1], "1", 1), 1);
    EXPECT_EQ(read(end[0], &c, 1), 1);
  });
  char c = 0;
  ASSERT_EQ(read(ready[0], &c, 1), 1);
  in_program([] {
    Program p;
    CUdeviceptr address = 0;
    EXPECT_EQ(p.cuMemAlloc_v2(&address, 300 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(p.cuMemAlloc_v2(&address, 200 * kMiB), CUDA_SUCCESS);
  });
  {
    const Container other({part_of(world, kLimit)});
    in_program([] {
      Program p;
      EXPECT_NE(p.allocate(kLimit), 0U);
    });
  }
  ASSERT_EQ(write(end[1], "1", 1), 1);
  sim::cuda::test::expect_success(first);
}

TEST(LimitedMemory, WhatAKilledProcessHeldComesBack) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t victim = sim::cuda::test::start([&] {
    Program p;
    EXPECT_NE(p.allocate(kLimit), 0U);
    EXPECT_EQ(write(ready[1], "1", 1), 1);
    pause();
  });
  char c = 0;
  ASSERT_EQ(read(ready[0], &c, 1), 1);
  kill(victim, SIGKILL);
  ASSERT_EQ(waitpid(victim, nullptr, 0), victim);
  in_program([] {
    Program p;
    EXPECT_TRUE(eventually([&] {
      CUdeviceptr address = 0;
      return p.cuMemAlloc_v2(&address, kLimit) == CUDA_SUCCESS;
    }));
  });
}

TEST(LimitedMemory, WithoutATenantNothingIsLimited) {
  const World world("l20");
  std::filesystem::remove("/run/tranche");
  in_program([] {
    Program p;
    EXPECT_NE(p.allocate(4 * kGiB), 0U);
  });
}

TEST(LimitedMemory, WhatCannotBeLookedAtIsNotTakenForNoPromise) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  const auto view = std::filesystem::read_symlink("/run/tranche");
  std::filesystem::remove("/run/tranche");
  std::filesystem::create_symlink("/run/tranche", "/run/tranche");  // leads nowhere: ELOOP
  in_program([&] {
    Program program;
    std::filesystem::remove("/run/tranche");
    std::filesystem::create_directory_symlink(view, "/run/tranche");
    EXPECT_NE(program.allocate(kLimit), 0U);
    CUdeviceptr address = 0;
    EXPECT_EQ(program.cuMemAlloc_v2(&address, kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  });
}

TEST(LimitedMemory, WithoutAnArbiterNoMemoryIsHandedOut) {
  const World world("l20");
  std::filesystem::create_directories("/run/limits/orphan/tenant");
  std::filesystem::remove("/run/tranche");
  std::filesystem::create_directory_symlink("/run/limits/orphan", "/run/tranche");
  in_program([] {
    Program p;
    CUdeviceptr address = 0;
    EXPECT_EQ(p.cuMemAlloc_v2(&address, kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(p.cuMemAlloc_v2(&address, kMiB), CUDA_ERROR_OUT_OF_MEMORY)
        << "and not after 5 s more";
  });
  std::filesystem::remove("/run/tranche");
}

}  // namespace
}  // namespace tranche::test::memory_test
