// Contexts that end and come back under the same handle.

#include <gtest/gtest.h>

#include "limits/limited/container.h"

namespace tranche::test::context_test {
namespace {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using sim::cuda::test::Cuda;
using sim::cuda::test::in_program;
using sim::cuda::test::kSpin;
using sim::test::World;

constexpr std::uint64_t kLimit = 512 * kMiB;

// A framework's worker: it retains the primary context, works, and releases it.
struct Worker : Cuda {
  Worker() { EXPECT_EQ(cuInit(0), CUDA_SUCCESS); }

  void retain() {
    CUcontext context = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_TRUE(primary == nullptr || primary == context) << "the handle stays";
    primary = context;
  }
  // Takes all of the part in each way that ends with the context, and launches a kernel.
  void work() {
    CUdeviceptr plain = 0;
    CUdeviceptr freed = 0;
    CUarray array = nullptr;
    const CUDA_ARRAY_DESCRIPTOR d{4096, 128 * kMiB / 4096 / 8, CU_AD_FORMAT_FLOAT, 2};
    ASSERT_EQ(cuMemAlloc_v2(&plain, 256 * kMiB), CUDA_SUCCESS);
    ASSERT_EQ(cuArrayCreate_v2(&array, &d), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc_v2(&freed, 128 * kMiB), CUDA_SUCCESS);
    CUdeviceptr more = 0;
    EXPECT_EQ(cuMemAlloc_v2(&more, kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    CUmodule module = nullptr;
    CUfunction spin = nullptr;
    std::uint64_t ns = 100'000;
    void* parameters[] = {&ns};
    ASSERT_EQ(cuModuleLoadData(&module, kSpin), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&spin, module, "spin"), CUDA_SUCCESS);
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
                CUDA_SUCCESS);
    }
    EXPECT_EQ(cuMemFreeAsync(freed, nullptr), CUDA_SUCCESS);  // after the kernels
  }
  CUcontext primary = nullptr;
};

TEST(LimitedContext, ThePrimaryOneThatEndsWhileItIsCurrentGivesBackAllOfIt) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Worker worker;
    for (int round = 0; round < 4; ++round) {
      SCOPED_TRACE(round);
      worker.retain();
      if (round == 0) {
        ASSERT_EQ(worker.cuCtxSetCurrent(worker.primary), CUDA_SUCCESS);
      }
      worker.work();
      // By its last user, or by a reset, which leaves it retained.
      if (round % 2 == 0) {
        EXPECT_EQ(worker.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
      } else {
        EXPECT_EQ(worker.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
        EXPECT_EQ(worker.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
      }
      CUdeviceptr address = 0;
      EXPECT_EQ(worker.cuMemAlloc_v2(&address, kMiB), CUDA_ERROR_CONTEXT_IS_DESTROYED);
      EXPECT_EQ(worker.cuMemAllocAsync(&address, kMiB, nullptr), CUDA_ERROR_CONTEXT_IS_DESTROYED);
      EXPECT_EQ(worker.cuMemAllocManaged(&address, kMiB, CU_MEM_ATTACH_GLOBAL),
                CUDA_ERROR_CONTEXT_IS_DESTROYED);
      EXPECT_EQ(worker.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
  });
}

TEST(LimitedContext, AThreadThatComesWhileThePrimaryOneIsInactiveIsLimitedLater) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Worker worker;
    worker.retain();
    EXPECT_EQ(worker.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    std::thread([&] {
      CUdeviceptr address = 0;
      ASSERT_EQ(worker.cuCtxSetCurrent(worker.primary), CUDA_SUCCESS);
      EXPECT_EQ(worker.cuMemAlloc_v2(&address, kMiB), CUDA_ERROR_CONTEXT_IS_DESTROYED);
      worker.retain();
      EXPECT_EQ(worker.cuMemAlloc_v2(&address, 2 * kLimit), CUDA_ERROR_OUT_OF_MEMORY);
      worker.work();
      EXPECT_EQ(worker.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    }).join();
  });
}

}  // namespace
}  // namespace tranche::test::context_test
