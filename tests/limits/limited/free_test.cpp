// Memory freed in stream order is held until its stream reaches the free.

#include <gtest/gtest.h>

#include "limits/limited/container.h"

namespace tranche::test::free_test {
namespace {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using sim::cuda::test::in_program;
using sim::cuda::test::Program;
using sim::test::World;

constexpr std::uint64_t kLimit = 512 * kMiB;

// A stream that is blocked until release().
class StandingStream {
 public:
  explicit StandingStream(Program& program) : program_(program), stream_(program.stream()) {
    EXPECT_EQ(program.cuMemAlloc_v2(&word_, sizeof(std::uint32_t)), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemsetD8_v2(word_, 0, sizeof(std::uint32_t)), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamWaitValue32_v2(stream_, word_, 1, CU_STREAM_WAIT_VALUE_EQ),
              CUDA_SUCCESS);
  }
  CUstream get() const { return stream_; }
  void release() {
    EXPECT_EQ(program_.cuStreamWriteValue32_v2(program_.stream(), word_, 1, 0), CUDA_SUCCESS);
    EXPECT_EQ(program_.cuStreamSynchronize(stream_), CUDA_SUCCESS);
  }

 private:
  Program& program_;
  CUstream stream_;
  CUdeviceptr word_ = 0;
};

CUresult allocate(Program& program, std::uint64_t bytes) {
  CUdeviceptr address = 0;
  return program.cuMemAlloc_v2(&address, bytes);
}

TEST(StreamOrderedFree, IsChargedUntilTheStreamGetsThere) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    StandingStream stream(program);
    unsigned granted = 0;
    CUdeviceptr address = 0;
    while (granted < 100 && program.cuMemAlloc_v2(&address, 64 * kMiB) == CUDA_SUCCESS) {
      EXPECT_EQ(program.cuMemFreeAsync(address, stream.get()), CUDA_SUCCESS);
      ++granted;
    }
    EXPECT_EQ(granted, kLimit / (64 * kMiB) - 1) << "the stream's word is charged too";
    stream.release();
    EXPECT_EQ(program.cuMemAlloc_v2(&address, kLimit - kMiB), CUDA_SUCCESS);
  });
}

// The library's own thread also releases charges, at any moment.
TEST(StreamOrderedFree, WhatIsBackIsThereWhoeverGaveItBack) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    for (int i = 0; i < 10000; ++i) {
      CUdeviceptr address = 0;
      ASSERT_EQ(program.cuMemAlloc_v2(&address, kLimit * 3 / 4), CUDA_SUCCESS) << i;
      ASSERT_EQ(program.cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
      ASSERT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    }
  });
}

// Another process of the tenant gets it without a request from this one.
TEST(StreamOrderedFree, GivesBackToSiblingsWhenTheStreamGetsThere) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  int ready[2];
  int end[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(end), 0);
  const pid_t first = sim::cuda::test::start([&] {
    Program program;
    StandingStream stream(program);
    CUdeviceptr address = 0;
    EXPECT_EQ(program.cuMemAlloc_v2(&address, kLimit - kMiB), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemFreeAsync(address, stream.get()), CUDA_SUCCESS);
    stream.release();
    char c = 0;
    EXPECT_EQ(write(ready[1], "1", 1), 1);
    EXPECT_EQ(read(end[0], &c, 1), 1);
  });
  char c = 0;
  ASSERT_EQ(read(ready[0], &c, 1), 1);
  in_program([] {
    Program program;
    EXPECT_TRUE(eventually([&] { return allocate(program, kLimit - kMiB) == CUDA_SUCCESS; }));
  });
  ASSERT_EQ(write(end[1], "1", 1), 1);
  sim::cuda::test::expect_success(first);
}

TEST(StreamOrderedFree, EndsWithTheStreamOrTheContext) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    CUdeviceptr address = 0;
    for (int i = 0; i < 3; ++i) {
      CUcontext context = nullptr;
      ASSERT_EQ(program.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
      {
        StandingStream stream(program);
        ASSERT_EQ(program.cuMemAlloc_v2(&address, kLimit - kMiB), CUDA_SUCCESS) << i;
        ASSERT_EQ(program.cuMemFreeAsync(address, stream.get()), CUDA_SUCCESS);
        EXPECT_EQ(allocate(program, kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        if (i == 0) stream.release();
        if (i < 2) {
          EXPECT_EQ(program.cuStreamDestroy_v2(stream.get()), CUDA_SUCCESS);
        }
      }
      ASSERT_EQ(program.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    }
    EXPECT_EQ(program.cuMemAlloc_v2(&address, kLimit), CUDA_SUCCESS);
  });
}

// The pool is gone, its memory is not.
TEST(StreamOrderedFree, OfADestroyedPoolsMemoryIsChargedAsLong) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  in_program([] {
    Program program;
    StandingStream stream(program);
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemoryPool pool = nullptr;
    CUdeviceptr address = 0;
    ASSERT_EQ(program.cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
    ASSERT_EQ(program.cuMemAllocFromPoolAsync(&address, kLimit / 2, pool, program.stream()),
              CUDA_SUCCESS);
    ASSERT_EQ(program.cuMemFreeAsync(address, stream.get()), CUDA_SUCCESS);
    ASSERT_EQ(program.cuMemPoolDestroy(pool), CUDA_SUCCESS);
    EXPECT_EQ(allocate(program, kLimit / 2 + kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    stream.release();
    EXPECT_EQ(allocate(program, kLimit - kMiB), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace tranche::test::free_test
