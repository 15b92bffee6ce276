// Streams, events and launches in virtual time: when things are over, to the nanosecond.

#include <atomic>
#include <thread>

#include "sim/cuda/support.h"
#include "sim/gpu/utilisation.h"

namespace tranche::sim::cuda::test::stream_test {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

TEST(CudaStream, WorkTakesItsDeclaredTime) {
  const VirtualWorld world("l20");
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    const CUevent begin = program.record();
    EXPECT_EQ(program.spin(spin, 5 * kMs), CUDA_SUCCESS);
    const CUevent middle = program.record();
    EXPECT_EQ(program.spin(spin, 7 * kMs), CUDA_SUCCESS);
    const CUevent end = program.record();
    EXPECT_EQ(program.cuEventQuery(begin), CUDA_SUCCESS);
    EXPECT_EQ(program.cuEventQuery(end), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(program.cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
    float ms = 0;
    EXPECT_EQ(program.cuEventElapsedTime(&ms, begin, end), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(program.cuEventSynchronize(middle), CUDA_SUCCESS);
    EXPECT_EQ(program.cuEventQuery(end), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(program.between(begin, middle), 5);
    EXPECT_FLOAT_EQ(program.between(middle, end), 7);
    EXPECT_FLOAT_EQ(program.between(end, begin), -12);
  });
}

TEST(CudaStream, KernelsOfAContextRunOneAfterTheOther) {
  const VirtualWorld world("l20");
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    const CUstream a = program.stream();
    const CUstream b = program.stream();
    const CUevent begin = program.record(a);
    program.spin(spin, 5 * kMs, a);
    program.spin(spin, 5 * kMs, b);
    const CUevent a_end = program.record(a);
    const CUevent b_end = program.record(b);
    EXPECT_EQ(program.cuStreamSynchronize(a), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(program.cuStreamSynchronize(b), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(program.between(begin, a_end), 5);
    EXPECT_FLOAT_EQ(program.between(begin, b_end), 10);
  });
}

// Blocks of one thread, as many as this part of the GPU runs at once.
unsigned blocks_of(Program& program, CUfunction function, unsigned percent) {
  int each = 0;
  int multiprocessors = 0;
  EXPECT_EQ(program.cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, function, 1, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(program.cuDeviceGetAttribute(&multiprocessors, 16, 0), CUDA_SUCCESS);
  return static_cast<unsigned>(each * multiprocessors) * percent / 100;
}

TEST(CudaStream, KernelsThatLeaveRoomOverlap) {
  const VirtualWorld world("l20");
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpinOverlapping, "spin");
    const auto launch = [&](unsigned percent, CUstream stream) {
      std::uint64_t ns = 5 * kMs;
      void* parameters[] = {&ns};
      EXPECT_EQ(program.cuLaunchKernel(spin, blocks_of(program, spin, percent), 1, 1, 1, 1, 1, 0,
                                       stream, parameters, nullptr),
                CUDA_SUCCESS);
      return program.record(stream);
    };
    const CUstream a = program.stream();
    const CUstream b = program.stream();
    const CUstream c = program.stream();
    const CUevent begin = program.record(a);
    const CUevent first = launch(40, a);
    const CUevent beside = launch(40, b);
    const CUevent behind = launch(40, c);  // when there is room
    const CUevent second = launch(60, a);  // after the first one of its stream
    const CUevent whole = launch(100, b);  // after all of them
    const CUevent last = launch(1, c);     // nothing runs at the same time
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(program.between(begin, first), 5);
    EXPECT_FLOAT_EQ(program.between(begin, beside), 5);
    EXPECT_FLOAT_EQ(program.between(begin, behind), 10);
    EXPECT_FLOAT_EQ(program.between(begin, second), 10);
    EXPECT_FLOAT_EQ(program.between(begin, whole), 15);
    EXPECT_FLOAT_EQ(program.between(begin, last), 20);
    // One by one they fill it as others do.
    const CUevent again = program.record(a);
    EXPECT_EQ(program.cuEventSynchronize(launch(1, a)), CUDA_SUCCESS);
    const CUevent end = launch(1, b);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(program.between(again, end), 10);
  });
}

TEST(CudaStream, TwoContextsShareTheGpuInSlices) {
  const VirtualWorld world("l20");
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    const CUstream a = program.stream();
    const CUevent begin = program.record(a);
    program.spin(spin, 10 * kMs, a);
    const CUevent a_end = program.record(a);
    CUcontext other = nullptr;
    ASSERT_EQ(program.cuCtxCreate_v2(&other, 0, 0), CUDA_SUCCESS);
    const CUfunction spin_there = program.function(kSpin, "spin");
    const CUstream b = program.stream();
    const CUevent b_begin = program.record(b);
    program.spin(spin_there, 10 * kMs, b);
    const CUevent b_end = program.record(b);
    EXPECT_EQ(program.spin(spin, kMs, b), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(program.between(b_begin, b_end), 20);
    ASSERT_EQ(program.cuCtxSetCurrent(program.context), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    // The elapsed time of a spans b's slices, as on hardware.
    EXPECT_FLOAT_EQ(program.between(begin, a_end), 18);
  });
}

TEST(CudaStream, TwoProcessesShareTheGpuInSlices) {
  const VirtualWorld world("l20");
  const auto sim = world.open();
  std::array<int, 2> here = {};
  std::array<int, 2> there = {};
  ASSERT_EQ(::pipe(here.data()), 0);
  ASSERT_EQ(::pipe(there.data()), 0);
  const auto body = [](int to, int from) {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    // Both have joined the machine's time before either waits.
    char sign = 0;
    EXPECT_EQ(::write(to, "x", 1), 1);
    EXPECT_EQ(::read(from, &sign, 1), 1);
    const CUevent begin = program.record();
    for (int i = 0; i < 100; ++i) program.spin(spin, kMs);
    const CUevent end = program.record();
    EXPECT_EQ(::write(to, "x", 1), 1);
    EXPECT_EQ(::read(from, &sign, 1), 1);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    // Each has half: 100 ms of work take 200, for one of them a slice less.
    const float ms = program.between(begin, end);
    EXPECT_GE(ms, 198);
    EXPECT_LE(ms, 200);
  };
  const pid_t a = start([&] { body(there[1], here[0]); });
  const pid_t b = start([&] { body(here[1], there[0]); });
  expect_success(a);
  expect_success(b);
}

TEST(CudaStream, TheLegacyDefaultStreamWaitsAndIsWaitedFor) {
  const VirtualWorld world("l20");
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    std::vector<char> order;
    const auto note = [](void* place) { *static_cast<std::uint64_t*>(place) = 1; };
    const CUstream blocking = program.stream(0);
    const CUstream free = program.stream();
    std::uint64_t seen = 0;
    program.spin(spin, 5 * kMs, blocking);
    EXPECT_EQ(program.cuLaunchHostFunc(blocking, note, &seen), CUDA_SUCCESS);
    const CUevent after_blocking = program.record(nullptr);
    const CUevent beside = program.record(free);
    EXPECT_EQ(program.cuEventQuery(beside), CUDA_SUCCESS);
    EXPECT_EQ(program.cuEventQuery(after_blocking), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(program.cuEventSynchronize(after_blocking), CUDA_SUCCESS);
    EXPECT_EQ(seen, 1U);
    // And the other way round.
    seen = 0;
    program.spin(spin, 5 * kMs, nullptr);
    EXPECT_EQ(program.cuLaunchHostFunc(nullptr, note, &seen), CUDA_SUCCESS);
    const CUevent after_legacy = program.record(blocking);
    EXPECT_EQ(program.cuEventSynchronize(after_legacy), CUDA_SUCCESS);
    EXPECT_EQ(seen, 1U);
  });
}

TEST(CudaStream, PerThreadDefaultStreamsAreOfTheirThread) {
  const VirtualWorld world("l20");
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    std::uint64_t ns = 5 * kMs;
    void* parameters[] = {&ns};
    const auto own = reinterpret_cast<CUstream>(2);
    EXPECT_EQ(program.cuLaunchKernel_ptsz(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamQuery(own), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(program.cuStreamQuery(nullptr), CUDA_SUCCESS);
    std::thread([&] {
      EXPECT_EQ(program.cuCtxSetCurrent(program.context), CUDA_SUCCESS);
      EXPECT_EQ(program.cuStreamQuery(own), CUDA_SUCCESS);
    }).join();
    EXPECT_EQ(program.cuStreamSynchronize(own), CUDA_SUCCESS);
  });
}

TEST(CudaStream, EventsOrderStreamsAndContexts) {
  const VirtualWorld world("a100-40gb-x4");
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    const CUstream first = program.stream();
    const CUevent begin = program.record(first);
    program.spin(spin, 5 * kMs, first);
    const CUevent done = program.record(first);
    CUcontext other = nullptr;
    ASSERT_EQ(program.cuCtxCreate_v2(&other, 0, 1), CUDA_SUCCESS);
    const CUfunction spin_there = program.function(kSpin, "spin");
    const CUstream second = program.stream();
    EXPECT_EQ(program.cuStreamWaitEvent(second, done, 0), CUDA_SUCCESS);
    program.spin(spin_there, 3 * kMs, second);
    const CUevent end = program.record(second);
    EXPECT_EQ(program.cuEventSynchronize(end), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(program.between(begin, done), 5);
    EXPECT_FLOAT_EQ(program.between(begin, end), 8);
    // An event that was never recorded holds nobody up.
    const CUevent never = program.event();
    EXPECT_EQ(program.cuStreamWaitEvent(second, never, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuEventQuery(never), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamSynchronize(second), CUDA_SUCCESS);
    float ms = 0;
    EXPECT_EQ(program.cuEventElapsedTime(&ms, never, end), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(program.cuEventElapsedTime(&ms, program.event(CU_EVENT_DISABLE_TIMING), end),
              CUDA_ERROR_INVALID_HANDLE);
  });
}

TEST(CudaStream, HostFunctionsRunInOrderAndMayNotCallCuda) {
  const VirtualWorld world("l20");
  in_program([] {
    struct Notes {
      Program* program;
      std::vector<int> order;
      CUresult refused = CUDA_SUCCESS;
    };
    Program program;
    Notes notes{&program, {}, CUDA_SUCCESS};
    const CUfunction spin = program.function(kSpin, "spin");
    const CUstream stream = program.stream();
    for (int i = 0; i < 3; ++i) {
      program.spin(spin, kMs, stream);
      EXPECT_EQ(program.cuLaunchHostFunc(
                    stream,
                    [](void* data) {
                      auto& all = *static_cast<Notes*>(data);
                      all.order.push_back(1);
                      all.refused = all.program->cuCtxSynchronize();
                    },
                    &notes),
                CUDA_SUCCESS);
      EXPECT_EQ(program.cuStreamAddCallback(
                    stream,
                    [](CUstream, CUresult status, void* data) {
                      static_cast<Notes*>(data)->order.push_back(status == CUDA_SUCCESS ? 2 : -1);
                    },
                    &notes, 0),
                CUDA_SUCCESS);
    }
    const CUevent end = program.record(stream);
    EXPECT_EQ(program.cuEventSynchronize(end), CUDA_SUCCESS);
    EXPECT_EQ(notes.order, (std::vector<int>{1, 2, 1, 2, 1, 2}));
    EXPECT_EQ(notes.refused, CUDA_ERROR_NOT_PERMITTED);
  });
}

// Nobody waits in the driver: its own thread advances time.
TEST(CudaStream, ThingsHappenWhenNobodyWaits) {
  const World world("l20");
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    const CUstream stream = program.stream();
    void* memory = nullptr;
    ASSERT_EQ(program.cuMemHostAlloc(&memory, kMiB, 0), CUDA_SUCCESS);
    const auto* const flag = static_cast<const volatile unsigned char*>(memory);
    const CUdeviceptr device = program.allocate(kMiB);
    std::atomic<int> called = 0;
    program.spin(spin, 3 * kMs, stream);
    EXPECT_EQ(program.cuMemsetD8Async(device, 9, kMiB, stream), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemcpyDtoHAsync_v2(memory, device, kMiB, stream), CUDA_SUCCESS);
    EXPECT_EQ(program.cuLaunchHostFunc(
                  stream, [](void* data) { ++*static_cast<std::atomic<int>*>(data); }, &called),
              CUDA_SUCCESS);
    EXPECT_EQ(flag[kMiB - 1], 0);
    while (called == 0) std::this_thread::yield();
    EXPECT_EQ(flag[kMiB - 1], 9);
  });
}

TEST(CudaStream, CopiesKeepTheirPlaceInTheOrder) {
  const VirtualWorld world("l20");
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    const CUstream stream = program.stream();
    const CUdeviceptr device = program.allocate(16);
    void* pinned = nullptr;
    ASSERT_EQ(program.cuMemHostAlloc(&pinned, 16, 0), CUDA_SUCCESS);
    auto* const words = static_cast<int*>(pinned);
    int ordinary = 11;
    words[0] = 22;
    program.spin(spin, kMs, stream);
    // Ordinary memory is read at once, page-locked memory when the stream reaches the copy.
    EXPECT_EQ(program.cuMemcpyHtoDAsync_v2(device, &ordinary, 4, stream), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemcpyHtoDAsync_v2(device + 4, words, 4, stream), CUDA_SUCCESS);
    ordinary = 0;
    words[0] = 33;
    EXPECT_EQ(program.cuStreamSynchronize(stream), CUDA_SUCCESS);
    std::array<int, 2> back = {};
    EXPECT_EQ(program.cuMemcpyDtoH_v2(back.data(), device, 8), CUDA_SUCCESS);
    EXPECT_EQ(back, (std::array<int, 2>{11, 33}));
    // Into ordinary memory: over when the call returns, after all earlier work.
    program.spin(spin, kMs, stream);
    EXPECT_EQ(program.cuMemcpyDtoHAsync_v2(&ordinary, device + 4, 4, stream), CUDA_SUCCESS);
    EXPECT_EQ(ordinary, 33);
    EXPECT_EQ(program.cuStreamQuery(stream), CUDA_SUCCESS);
  });
}

TEST(CudaStream, CopiesTakeTheBusTime) {
  const VirtualWorld world("a100-40gb-x4");
  in_program([] {
    Program program;
    const CUdeviceptr device = program.allocate(kGiB);
    void* pinned = nullptr;
    ASSERT_EQ(program.cuMemHostAlloc(&pinned, kGiB, 0), CUDA_SUCCESS);
    const CUevent begin = program.record();
    EXPECT_EQ(program.cuMemcpyHtoDAsync_v2(device, pinned, kGiB, nullptr), CUDA_SUCCESS);
    const CUevent end = program.record();
    EXPECT_EQ(program.cuEventSynchronize(end), CUDA_SUCCESS);
    // PCI Express 4.0 x16 at four fifths: 25.2 GB/s.
    EXPECT_NEAR(program.between(begin, end), 42.6, 0.1);
  });
}

TEST(CudaStream, AStreamWaitsForAWordInMemory) {
  const World world("l20");
  in_program([] {
    Program program;
    const CUdeviceptr word = program.allocate(4);
    const CUstream a = program.stream();
    const CUstream b = program.stream();
    EXPECT_EQ(program.cuStreamWaitValue32_v2(a, word, 5, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
    const CUevent after = program.record(a);
    EXPECT_EQ(program.cuEventQuery(after), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(program.cuStreamWriteValue32_v2(b, word, 4, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamSynchronize(b), CUDA_SUCCESS);
    EXPECT_EQ(program.cuEventQuery(after), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(program.cuStreamWriteValue32_v2(b, word, 6, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuEventSynchronize(after), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamWaitValue32_v2(a, word + 2, 5, 0), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(CudaStream, AFullQueueMakesLaunchesWait) {
  const VirtualWorld world("l20");
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    const CUevent begin = program.record();
    for (int i = 0; i < 1024; ++i) program.spin(spin, kMs);
    const CUevent before = program.record();
    program.spin(spin, kMs);
    // The queue holds 1024: time had to pass for the last ones to find room.
    EXPECT_EQ(program.cuEventQuery(begin), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(program.between(begin, before), 1024);
  });
}

TEST(CudaStream, ADestroyedContextTakesItsWorkAlong) {
  const VirtualWorld world("l20");
  in_program([] {
    Program program;
    CUcontext other = nullptr;
    ASSERT_EQ(program.cuCtxCreate_v2(&other, 0, 0), CUDA_SUCCESS);
    const CUfunction spin_there = program.function(kSpin, "spin");
    program.spin(spin_there, 1000 * kMs);
    ASSERT_EQ(program.cuCtxDestroy_v2(other), CUDA_SUCCESS);
    const CUfunction spin = program.function(kSpin, "spin");
    const CUevent begin = program.record();
    program.spin(spin, kMs);
    const CUevent end = program.record();
    EXPECT_EQ(program.cuEventSynchronize(end), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(program.between(begin, end), 1);
  });
}

TEST(CudaStream, PrioritiesAreToldAndBounded) {
  const World world("l20");
  in_program([] {
    Program program;
    CUstream stream = nullptr;
    int priority = 0;
    EXPECT_EQ(program.cuStreamCreateWithPriority(&stream, 0, -100), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamGetPriority(stream, &priority), CUDA_SUCCESS);
    EXPECT_EQ(priority, -5);
    EXPECT_EQ(program.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(program.cuStreamDestroy_v2(nullptr), CUDA_ERROR_INVALID_VALUE);
  });
}

// NVML reports the contexts' work.
TEST(CudaStream, WorkIsUtilisation) {
  const VirtualWorld world("l20");
  const auto sim = world.open();
  in_program([&] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    for (int i = 0; i < 500; ++i) program.spin(spin, 2 * kMs);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    const WindowLoad load = window_load(*sim, 0, last_window(*sim, 0));
    EXPECT_EQ(load.permille, 1000U);
    ASSERT_EQ(load.processes.size(), 1U);
    EXPECT_EQ(load.processes[0].pid, ::getpid());
  });
}

// Threads that launch, wait and query independently.
TEST(CudaStream, ThreadsDoNotDisturbEachOther) {
  const VirtualWorld world("l20");
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t) {
      threads.emplace_back([&program, spin] {
        ASSERT_EQ(program.cuCtxSetCurrent(program.context), CUDA_SUCCESS);
        const CUstream stream = program.stream();
        const CUdeviceptr memory = program.allocate(kMiB);
        for (int i = 0; i < 30; ++i) {
          const CUevent begin = program.record(stream);
          EXPECT_EQ(program.spin(spin, 100'000, stream), CUDA_SUCCESS);
          EXPECT_EQ(program.cuMemsetD8Async(memory, 3, kMiB, stream), CUDA_SUCCESS);
          const CUevent end = program.record(stream);
          EXPECT_EQ(program.cuEventSynchronize(end), CUDA_SUCCESS);
          EXPECT_GE(program.between(begin, end), 0.1F);
          EXPECT_EQ(program.cuEventDestroy_v2(begin), CUDA_SUCCESS);
          EXPECT_EQ(program.cuEventDestroy_v2(end), CUDA_SUCCESS);
        }
        EXPECT_EQ(program.cuMemFree_v2(memory), CUDA_SUCCESS);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace tranche::sim::cuda::test::stream_test
