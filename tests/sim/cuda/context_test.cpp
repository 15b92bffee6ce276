// Contexts: each thread's stack, primary ones, their cost, and what ends with them.

#include <thread>

#include "sim/cuda/support.h"
#include "sim/gpu/memory.h"
#include "sim/gpu/uses.h"

namespace tranche::sim::cuda::test::context_test {
namespace {

CUcontext current(const Cuda& cuda) {
  CUcontext context = nullptr;
  EXPECT_EQ(cuda.cuCtxGetCurrent(&context), CUDA_SUCCESS);
  return context;
}

TEST(CudaContext, EachThreadHasAStack) {
  const World world("a100-40gb-x4");
  in_program([] {
    const Cuda cuda;
    ASSERT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(current(cuda), nullptr);
    CUcontext a = nullptr;
    CUcontext b = nullptr;
    ASSERT_EQ(cuda.cuCtxCreate_v2(&a, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuCtxCreate_v2(&b, 0, 1), CUDA_SUCCESS);
    EXPECT_EQ(current(cuda), b);
    std::thread([&] {
      EXPECT_EQ(current(cuda), nullptr);
      EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
      EXPECT_EQ(cuda.cuCtxSetCurrent(a), CUDA_SUCCESS);
      CUdevice device = -1;
      EXPECT_EQ(cuda.cuCtxGetDevice(&device), CUDA_SUCCESS);
      EXPECT_EQ(device, 0);
    }).join();
    CUcontext popped = nullptr;
    EXPECT_EQ(cuda.cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
    EXPECT_EQ(popped, b);
    EXPECT_EQ(current(cuda), a);
    EXPECT_EQ(cuda.cuCtxPushCurrent_v2(b), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxPushCurrent_v2(b), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(current(cuda), b);
    EXPECT_EQ(cuda.cuCtxSetCurrent(reinterpret_cast<CUcontext>(0x1234)),
              CUDA_ERROR_INVALID_CONTEXT);
  });
}

TEST(CudaContext, IsGoneForAllThreadsWhenItIsDestroyed) {
  const World world("l20");
  in_program([] {
    Program program;
    const CUdeviceptr address = program.allocate(kMiB);
    const CUstream stream = program.stream();
    std::thread other;
    {
      // Destroyed while it is another thread's current one.
      const CUcontext context = program.context;
      other = std::thread([&program, context, address] {
        EXPECT_EQ(program.cuCtxSetCurrent(context), CUDA_SUCCESS);
        std::thread([&] { EXPECT_EQ(program.cuCtxDestroy_v2(context), CUDA_SUCCESS); }).join();
        EXPECT_EQ(program.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        EXPECT_EQ(program.cuMemFree_v2(address), CUDA_ERROR_CONTEXT_IS_DESTROYED);
      });
    }
    other.join();
    EXPECT_EQ(program.cuCtxDestroy_v2(program.context), CUDA_ERROR_INVALID_CONTEXT);
    ASSERT_EQ(program.cuCtxCreate_v2(&program.context, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(program.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(CudaContext, CostsMemoryAndIsListedWhileItLives) {
  const World world("t4");
  const auto sim = world.open();
  const std::uint64_t own = sim->state().models[0].context_bytes;
  in_program([&] {
    const Cuda cuda;
    ASSERT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    EXPECT_TRUE(live_uses(*sim, 0).empty());
    const std::uint64_t before = memory_use(*sim, 0, kNone).used;
    CUcontext a = nullptr;
    CUcontext b = nullptr;
    ASSERT_EQ(cuda.cuCtxCreate_v2(&a, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuCtxCreate_v2(&b, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before + 2 * own);
    ASSERT_EQ(live_uses(*sim, 0).size(), 1U);
    EXPECT_EQ(live_uses(*sim, 0)[0].pid, ::getpid());
    CUdeviceptr address = 0;
    ASSERT_EQ(cuda.cuMemAlloc_v2(&address, 64 * kMiB), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuCtxDestroy_v2(b), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before + own);
    ASSERT_EQ(cuda.cuCtxDestroy_v2(a), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, before);
    EXPECT_TRUE(live_uses(*sim, 0).empty());
  });
}

TEST(CudaContext, ThePrimaryOneIsCounted) {
  const World world("l20");
  in_program([] {
    const Cuda cuda;
    ASSERT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    unsigned flags = 7;
    int active = 7;
    EXPECT_EQ(cuda.cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 0);
    CUcontext one = nullptr;
    CUcontext two = nullptr;
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&one, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&two, 0), CUDA_SUCCESS);
    EXPECT_EQ(one, two);
    EXPECT_EQ(current(cuda), nullptr);
    EXPECT_EQ(cuda.cuCtxSetCurrent(one), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxDestroy_v2(one), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&one, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 0);
  });
}

// As documented at CUDA_ERROR_CONTEXT_IS_DESTROYED and cuDevicePrimaryCtxReset.
TEST(CudaContext, AnInactivePrimaryOneMayBeCurrentAndIsTheSameLater) {
  const World world("l20");
  const auto sim = world.open();
  in_program([&] {
    const Cuda cuda;
    ASSERT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    CUcontext primary = nullptr;
    CUcontext again = nullptr;
    CUcontext told = nullptr;
    CUdeviceptr address = 0;
    ASSERT_EQ(cuda.cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuCtxSetCurrent(primary), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuMemAlloc_v2(&address, kMiB), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    EXPECT_TRUE(live_uses(*sim, 0).empty()) << "nothing of it is left";
    EXPECT_EQ(current(cuda), primary);
    EXPECT_EQ(cuda.cuMemAlloc_v2(&address, kMiB), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_EQ(cuda.cuCtxPopCurrent_v2(&told), CUDA_SUCCESS);
    EXPECT_EQ(told, primary);
    EXPECT_EQ(cuda.cuCtxPushCurrent_v2(primary), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSetCurrent(primary), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ASSERT_EQ(cuda.cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
    EXPECT_EQ(again, primary);
    EXPECT_EQ(cuda.cuMemAlloc_v2(&address, kMiB), CUDA_SUCCESS) << "it is current already";
    // A reset releases nothing: whoever retained it has to.
    ASSERT_EQ(cuda.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemFree_v2(address), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
    ASSERT_EQ(cuda.cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
    EXPECT_EQ(again, primary);
    EXPECT_EQ(cuda.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE) << "it went with the reset";
  });
}

// Its stacks are as large as its threads' local memory was at most, until it ends.
TEST(CudaContext, ItsMemoryGrowsWithItsLimitsAndItsKernels) {
  const World world("l20");
  in_program([] {
    Program program;
    constexpr std::uint64_t kThreads = 92ULL * 1536;  // that an L20 runs at once
    const auto paged = [](std::uint64_t bytes) {
      return (bytes + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB);
    };
    const std::size_t before = program.free_bytes();
    EXPECT_EQ(program.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048), CUDA_SUCCESS);
    const std::uint64_t stacks = paged(1024 * kThreads);
    EXPECT_EQ(program.free_bytes(), before - stacks);
    EXPECT_EQ(program.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024), CUDA_SUCCESS);
    EXPECT_EQ(program.free_bytes(), before - stacks) << "it is free when the context ends";
    EXPECT_EQ(program.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, kGiB), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(program.cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 136 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 65 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(program.free_bytes(), before - stacks) << "no kernel ran that uses them";
    const CUfunction deep = program.function(R"(
.version 8.0
.target sm_75
.visible .entry deep()
{
  .local .align 8 .b8 depot[4096];
  ret;
}
)",
                                             "deep");
    EXPECT_EQ(program.cuLaunchKernel(deep, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(program.free_bytes(), before - paged(3072 * kThreads) - 192 * kMiB);
    CUcontext other = nullptr;
    ASSERT_EQ(program.cuCtxCreate_v2(&other, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxDestroy_v2(program.context), CUDA_SUCCESS);
    EXPECT_EQ(program.free_bytes(), before) << "as with one context";
  });
}

TEST(CudaContext, ComputeModesCloseTheGpu) {
  const World world("l20");
  const auto sim = world.open();
  auto& mode = sim->state().gpus[0].compute_mode;
  mode.store(CU_COMPUTEMODE_PROHIBITED);
  in_program([] {
    const Cuda cuda;
    CUcontext context = nullptr;
    ASSERT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxCreate_v2(&context, 0, 0), CUDA_ERROR_DEVICE_UNAVAILABLE);
  });
  mode.store(CU_COMPUTEMODE_EXCLUSIVE_PROCESS);
  std::array<int, 2> ready = {};
  std::array<int, 2> done = {};
  ASSERT_EQ(::pipe(ready.data()), 0);
  ASSERT_EQ(::pipe(done.data()), 0);
  const pid_t first = start([&] {
    const Program program;
    EXPECT_EQ(::write(ready[1], "x", 1), 1);
    char sign = 0;
    EXPECT_EQ(::read(done[0], &sign, 1), 1);
  });
  char sign = 0;
  ASSERT_EQ(::read(ready[0], &sign, 1), 1);
  in_program([] {
    const Cuda cuda;
    CUcontext context = nullptr;
    ASSERT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxCreate_v2(&context, 0, 0), CUDA_ERROR_DEVICE_UNAVAILABLE);
  });
  ASSERT_EQ(::write(done[1], "x", 1), 1);
  expect_success(first);
  in_program([] { const Program program; });
}

TEST(CudaContext, LimitsAreKept) {
  const World world("l20");
  in_program([] {
    const Program program;
    std::size_t value = 0;
    EXPECT_EQ(program.cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE), CUDA_SUCCESS);
    EXPECT_EQ(value, 1024U);
    EXPECT_EQ(program.cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 99), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE), CUDA_SUCCESS);
    EXPECT_EQ(value, 99U);
    EXPECT_EQ(program.cuCtxGetLimit(&value, static_cast<CUlimit>(50)),
              CUDA_ERROR_UNSUPPORTED_LIMIT);
  });
}

}  // namespace
}  // namespace tranche::sim::cuda::test::context_test
