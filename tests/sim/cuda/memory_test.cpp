// Device memory: counted over all processes, freed with its owner, with real bytes.

#include "sim/gpu/memory.h"

#include <signal.h>
#include <sys/mman.h>

#include <cstdint>
#include <numeric>
#include <random>

#include "sim/cuda/support.h"
#include "sim/gpu/uses.h"

namespace tranche::sim::cuda::test::memory_test {
namespace {

std::uint64_t used(const Simulation& sim) { return memory_use(sim, 0, kNone).used; }

TEST(CudaMemory, IsCountedInPages) {
  const World world("l20");
  const auto sim = world.open();
  in_program([&] {
    Program program;
    const std::uint64_t before = used(*sim);
    const std::size_t free = program.free_bytes();
    // Small allocations share a page of 2 MiB.
    const CUdeviceptr a = program.allocate(1);
    const CUdeviceptr b = program.allocate(1000);
    EXPECT_EQ(used(*sim), before + 2 * kMiB);
    EXPECT_EQ(program.free_bytes(), free - 2 * kMiB);
    EXPECT_EQ(a % 256, 0U);
    EXPECT_EQ(b % 256, 0U);
    // Large ones have pages of their own.
    const CUdeviceptr c = program.allocate(3 * kMiB);
    EXPECT_EQ(used(*sim), before + 6 * kMiB);
    for (const CUdeviceptr address : {b, c, a}) {
      EXPECT_EQ(program.cuMemFree_v2(address), CUDA_SUCCESS);
    }
    EXPECT_EQ(used(*sim), before);
    EXPECT_EQ(program.free_bytes(), free);
  });
}

TEST(CudaMemory, WrongCalls) {
  const World world("l20");
  in_program([] {
    Program program;
    CUdeviceptr address = 0;
    EXPECT_EQ(program.cuMemAlloc_v2(&address, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuMemAlloc_v2(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuMemAlloc_v2(&address, ~std::size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(program.cuMemFree_v2(0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemFree_v2(0x1234), CUDA_ERROR_INVALID_VALUE);
    address = program.allocate(kMiB);
    EXPECT_EQ(program.cuMemFree_v2(address + 512), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuMemFree_v2(address), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuMemsetD8_v2(address, 1, 1), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(CudaMemory, BytesAreKept) {
  const World world("l20");
  in_program([] {
    Program program;
    const CUdeviceptr a = program.allocate(8 * kMiB);
    const CUdeviceptr b = program.allocate(8 * kMiB);
    std::vector<std::uint32_t> out(1U << 20U);
    std::iota(out.begin(), out.end(), 7U);
    std::vector<std::uint32_t> in(out.size());
    EXPECT_EQ(program.cuMemcpyHtoD_v2(a + 4096, out.data(), 4 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemcpyDtoD_v2(b, a + 4096, 4 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemcpyDtoH_v2(in.data(), b, 4 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(in, out);
    // Memory that nobody wrote is zero; a fill reaches its end and no further.
    EXPECT_EQ(program.cuMemsetD32_v2(b, 0xABCD1234, 10), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemcpy(reinterpret_cast<CUdeviceptr>(in.data()), b, 44), CUDA_SUCCESS);
    EXPECT_EQ(in[9], 0xABCD1234U);
    EXPECT_EQ(in[10], out[10]);
    EXPECT_EQ(program.cuMemcpyDtoH_v2(in.data(), a, 4), CUDA_SUCCESS);
    EXPECT_EQ(in[0], 0U);
    // Beyond the end there is nothing.
    EXPECT_EQ(program.cuMemcpyDtoH_v2(in.data(), a + 6 * kMiB, 4 * kMiB), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuMemsetD8_v2(a, 0, 9 * kMiB), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(CudaMemory, TheHostCannotTouchIt) {
  const World world("l20");
  const pid_t pid = start([] {
    Program program;
    ::signal(SIGSEGV, SIG_DFL);
    *reinterpret_cast<volatile int*>(program.allocate(kMiB)) = 1;
  });
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  // A sanitizer may turn the signal into an exit.
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) <= 1) << status;
}

TEST(CudaMemory, AnAllocationCostsNothingUntilItIsTouched) {
  const World world("l20");
  in_program([] {
    Program program;
    const CUdeviceptr address = program.allocate(40 * kGiB);
    EXPECT_EQ(program.cuMemsetD8_v2(address + 39 * kGiB, 1, 100), CUDA_SUCCESS);
    std::array<char, 100> bytes = {};
    EXPECT_EQ(program.cuMemcpyDtoH_v2(bytes.data(), address + 39 * kGiB, 100), CUDA_SUCCESS);
    EXPECT_EQ(bytes[99], 1);
    EXPECT_EQ(program.cuMemFree_v2(address), CUDA_SUCCESS);
    // Freed memory comes back as new.
    const CUdeviceptr again = program.allocate(40 * kGiB);
    EXPECT_EQ(program.cuMemcpyDtoH_v2(bytes.data(), again + 39 * kGiB, 100), CUDA_SUCCESS);
    EXPECT_EQ(bytes[99], 0);
  });
}

TEST(CudaMemory, RowsArePadded) {
  const World world("l20");
  in_program([] {
    Program program;
    CUdeviceptr address = 0;
    std::size_t pitch = 0;
    EXPECT_EQ(program.cuMemAllocPitch_v2(&address, &pitch, 1000, 30, 4), CUDA_SUCCESS);
    EXPECT_EQ(pitch, 1024U);
    std::size_t size = 0;
    CUdeviceptr base = 0;
    EXPECT_EQ(program.cuMemGetAddressRange_v2(&base, &size, address + 5000), CUDA_SUCCESS);
    EXPECT_EQ(base, address);
    EXPECT_EQ(size, 1024U * 30U);
    EXPECT_EQ(program.cuMemAllocPitch_v2(&address, &pitch, 1000, 30, 5), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(CudaMemory, ProcessesExhaustItTogether) {
  const World world("t4");
  const auto sim = world.open();
  // Processes that take pages until none are left, all at once.
  std::array<int, 2> hold = {};
  std::array<int, 2> full = {};
  std::array<int, 2> begin = {};
  ASSERT_EQ(::pipe(begin.data()), 0);
  ASSERT_EQ(::pipe(hold.data()), 0);
  ASSERT_EQ(::pipe(full.data()), 0);
  std::vector<pid_t> pids;
  constexpr int kProcesses = 4;
  for (int i = 0; i < kProcesses; ++i) {
    pids.push_back(start([&] {
      Program program;
      CUdeviceptr address = 0;
      CUresult result = CUDA_SUCCESS;
      char sign = 0;
      EXPECT_EQ(::write(full[1], "x", 1), 1);
      EXPECT_EQ(::read(begin[0], &sign, 1), 1);
      for (std::uint64_t size = kGiB; size >= 2 * kMiB; size /= 2) {
        do {
          result = program.cuMemAlloc_v2(&address, size);
        } while (result == CUDA_SUCCESS);
        EXPECT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
      }
      EXPECT_EQ(::write(full[1], "x", 1), 1);
      EXPECT_EQ(::read(hold[0], &sign, 1), 1);
    }));
  }
  const auto wait_for_all = [&] {
    char sign = 0;
    for (int i = 0; i < kProcesses; ++i) ASSERT_EQ(::read(full[0], &sign, 1), 1);
  };
  wait_for_all();
  for (int i = 0; i < kProcesses; ++i) ASSERT_EQ(::write(begin[1], "x", 1), 1);
  wait_for_all();
  const MemoryUse use = memory_use(*sim, 0, kNone);
  EXPECT_LE(use.used + use.reserved, use.total);
  EXPECT_LT(use.total - use.used - use.reserved, 2 * kMiB);
  EXPECT_EQ(live_uses(*sim, 0).size(), std::size_t{kProcesses});
  for (int i = 0; i < kProcesses; ++i) ASSERT_EQ(::write(hold[1], "x", 1), 1);
  for (const pid_t pid : pids) expect_success(pid);
  EXPECT_EQ(used(*sim), sim->state().models[0].idle_bytes);
}

// Killed at any moment of allocating, copying, launching: its memory and work are gone, and the
// others continue.
TEST(CudaMemory, AKilledProcessLeavesNothing) {
  const World world("t4");
  const auto sim = world.open();
  std::mt19937 random{std::random_device{}()};
  for (int i = 0; i < 20; ++i) {
    std::array<int, 2> ready = {};
    ASSERT_EQ(::pipe(ready.data()), 0);
    const pid_t victim = start([&] {
      Program program;
      const CUfunction spin = program.function(kSpin, "spin");
      EXPECT_EQ(::write(ready[1], "x", 1), 1);
      for (;;) {
        const CUdeviceptr address = program.allocate(3 * kMiB);
        program.cuMemsetD8_v2(address, 1, kMiB);
        program.spin(spin, 3'600'000'000'000);  // an hour
        CUdeviceptr more = 0;
        program.cuMemAllocAsync(&more, kMiB, nullptr);
      }
    });
    char sign = 0;
    ASSERT_EQ(::read(ready[0], &sign, 1), 1);
    ::usleep(std::uniform_int_distribution<unsigned>(0, 3000)(random));
    ASSERT_EQ(::kill(victim, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(victim, &status, 0), victim);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(used(*sim), sim->state().models[0].idle_bytes);
    in_program([] {
      Program program;
      const CUfunction spin = program.function(kSpin, "spin");
      EXPECT_EQ(program.spin(spin, 100'000), CUDA_SUCCESS);
      EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
      EXPECT_EQ(program.cuMemFree_v2(program.allocate(kGiB)), CUDA_SUCCESS);
    });
    ::close(ready[0]);
    ::close(ready[1]);
  }
}

TEST(CudaMemory, RandomAllocationsAgreeWithTheCount) {
  const World world("l20");
  const auto sim = world.open();
  in_program([&] {
    Program program;
    std::mt19937 random{42};
    const std::uint64_t empty = used(*sim);
    std::vector<std::pair<CUdeviceptr, std::size_t>> live;
    const auto pick = [&](std::size_t bound) {
      return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
    };
    for (int i = 0; i < 2000; ++i) {
      if (live.empty() || pick(5) < 3) {
        const std::size_t size = pick(3) == 0 ? pick(5 * kMiB) + 1 : pick(5000) + 1;
        const CUdeviceptr address = program.allocate(size);
        for (const auto& [other, length] : live) {
          EXPECT_TRUE(address + size <= other || other + length <= address);
        }
        live.emplace_back(address, size);
      } else {
        const std::size_t at = pick(live.size());
        EXPECT_EQ(program.cuMemFree_v2(live[at].first), CUDA_SUCCESS);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      }
      std::uint64_t sum = 0;
      for (const auto& [address, size] : live) sum += size;
      EXPECT_GE(used(*sim) - empty, sum);
    }
    for (const auto& [address, size] : live) program.cuMemFree_v2(address);
    EXPECT_EQ(used(*sim), empty);
  });
}

TEST(CudaHostMemory, IsPageLockedAndCostsTheGpuNothing) {
  const World world("l20");
  const auto sim = world.open();
  in_program([&] {
    Program program;
    const std::uint64_t before = used(*sim);
    void* memory = nullptr;
    EXPECT_EQ(program.cuMemHostAlloc(&memory, 10 * kMiB, 0), CUDA_SUCCESS);
    EXPECT_EQ(used(*sim), before);
    std::memset(memory, 5, 10 * kMiB);
    CUdeviceptr address = 0;
    EXPECT_EQ(program.cuMemHostGetDevicePointer_v2(&address, memory, 0), CUDA_SUCCESS);
    EXPECT_EQ(address, reinterpret_cast<CUdeviceptr>(memory));
    EXPECT_EQ(program.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuMemFreeHost(memory), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
    std::vector<char> own(kMiB);
    EXPECT_EQ(program.cuMemHostRegister_v2(own.data(), own.size(), 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemHostRegister_v2(own.data() + 10, 10, 0),
              CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    EXPECT_EQ(program.cuMemHostGetDevicePointer_v2(&address, own.data() + 100, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemHostUnregister(own.data()), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemHostUnregister(own.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  });
}

TEST(CudaManagedMemory, LiesOnTheGpuWhenItIsUsedThere) {
  const World world("t4");
  const auto sim = world.open();
  in_program([&] {
    Program program;
    const std::uint64_t before = used(*sim);
    CUdeviceptr managed = 0;
    // More than the GPU has.
    EXPECT_EQ(program.cuMemAllocManaged(&managed, 40 * kGiB, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(used(*sim), before);
    reinterpret_cast<char*>(managed)[0] = 42;
    EXPECT_EQ(program.cuMemPrefetchAsync(managed, 4 * kGiB, 0, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(used(*sim), before + 4 * kGiB);
    EXPECT_EQ(program.cuMemPrefetchAsync(managed, 40 * kGiB, 0, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(program.free_bytes(), 0U);
    // What cannot move pushes it out.
    const CUdeviceptr pinned = program.allocate(10 * kGiB);
    EXPECT_EQ(program.free_bytes(), 0U);
    EXPECT_EQ(program.cuMemFree_v2(pinned), CUDA_SUCCESS);
    EXPECT_EQ(program.free_bytes(), 10 * kGiB);
    char byte = 0;
    EXPECT_EQ(program.cuMemcpyDtoH_v2(&byte, managed, 1), CUDA_SUCCESS);
    EXPECT_EQ(byte, 42);
    EXPECT_EQ(program.cuMemFree_v2(managed), CUDA_SUCCESS);
    EXPECT_EQ(used(*sim), before);
  });
}

TEST(CudaPointers, AreToldApart) {
  const World world("l20");
  in_program([] {
    Program program;
    const CUdeviceptr device = program.allocate(kMiB);
    unsigned type = 0;
    EXPECT_EQ(program.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 5),
              CUDA_SUCCESS);
    EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
    CUcontext context = nullptr;
    EXPECT_EQ(program.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, device),
              CUDA_SUCCESS);
    EXPECT_EQ(context, program.context);
    void* host = nullptr;
    EXPECT_EQ(program.cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, device),
              CUDA_ERROR_INVALID_VALUE);
    int local = 0;
    EXPECT_EQ(program.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                            reinterpret_cast<CUdeviceptr>(&local)),
              CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr start = 0;
    int ordinal = 0;
    std::array<CUpointer_attribute, 2> which = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                                CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    std::array<void*, 2> out = {&start, &ordinal};
    EXPECT_EQ(program.cuPointerGetAttributes(2, which.data(), out.data(), device + 77),
              CUDA_SUCCESS);
    EXPECT_EQ(start, device);
    EXPECT_EQ(ordinal, 0);
    EXPECT_EQ(program.cuPointerGetAttributes(2, which.data(), out.data(),
                                             reinterpret_cast<CUdeviceptr>(&local)),
              CUDA_SUCCESS);
    EXPECT_EQ(start, 0U);
    EXPECT_EQ(ordinal, -2);
  });
}

}  // namespace
}  // namespace tranche::sim::cuda::test::memory_test
