// What passes the gate is measured, in full and once.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <vector>

#include "limits/limited/gate_testing.h"
#include "sim/state/faults.h"

namespace tranche::test::gate_test {
namespace {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using sim::cuda::test::in_program;
using sim::cuda::test::kSpin;
using sim::cuda::test::Program;

TEST(Gate, WorkIsMeasured) {
  const World world("l20");
  const Container container({counted(world)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    for (int i = 0; i < 30; ++i) EXPECT_EQ(program.spin(spin, 2 * kMs), CUDA_SUCCESS);
    for (int i = 0; i < 2000; ++i) EXPECT_EQ(program.spin(spin, 20'000), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    // Of 100 ms of work; see kHeldUp. (The driver reports time as floats.)
    EXPECT_TRUE(eventually([] { return seen().measured >= 98 * kMs - kHeldUp; }))
        << seen().measured;
    EXPECT_GE(seen().longest, 2 * kMs);
    EXPECT_GT(seen().spent, 0U);
  });
}

TEST(Gate, GraphsAndCooperativeLaunchesAreMeasuredToo) {
  const World world("l20");
  const Container container({counted(world)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    const CUstream stream = program.stream();
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    EXPECT_EQ(program.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(program.spin(spin, kMs, stream), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    EXPECT_EQ(program.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(seen().measured, 0U) << "a capture is no work";
    // The stream starts when everything is in it. Otherwise it would run dry if this thread is
    // delayed between two launches, and a batch that ended before its end could be recorded counts
    // only as expected.
    CUdeviceptr begin = 0;
    EXPECT_EQ(program.cuMemAlloc_v2(&begin, sizeof(std::uint32_t)), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemsetD8_v2(begin, 0, sizeof(std::uint32_t)), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamWaitValue32_v2(stream, begin, 1, CU_STREAM_WAIT_VALUE_EQ),
              CUDA_SUCCESS);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(program.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    std::uint64_t ns = 5 * kMs;
    void* parameters[] = {&ns};
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(program.cuLaunchCooperativeKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, parameters),
                CUDA_SUCCESS);
    }
    EXPECT_EQ(program.cuStreamWriteValue32_v2(program.stream(), begin, 1, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamSynchronize(stream), CUDA_SUCCESS);
    // 100 ms of each: without one of them the sum would be 100 at most.
    EXPECT_TRUE(eventually([] { return seen().measured >= 198 * kMs - kHeldUp; }))
        << seen().measured;
    EXPECT_GE(seen().longest, 10 * kMs) << "a graph is one launch";
  });
}

// As with a graph that loops until the device ends it: its handle does not show how long it will
// take this time.
TEST(Gate, AGraphThatTakesMuchLongerThanBeforeIsMeasuredInFull) {
  const World world("l20");
  const Container container({counted(world)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    std::uint64_t ns = 10'000;
    void* parameters[] = {&ns};
    const auto node_parameters = one_block(spin, parameters);
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    ASSERT_EQ(program.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(program.cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &node_parameters),
              CUDA_SUCCESS);
    ASSERT_EQ(program.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    const CUstream stream = program.stream();
    const auto launch = [&](std::uint64_t length) {
      ns = length;
      EXPECT_EQ(program.cuGraphExecKernelNodeSetParams_v2(exec, node, &node_parameters),
                CUDA_SUCCESS);
      EXPECT_EQ(program.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
      EXPECT_EQ(program.cuStreamSynchronize(stream), CUDA_SUCCESS);
    };
    for (int i = 0; i < 100; ++i) launch(10'000);
    const std::uint64_t before = seen().measured;
    for (int i = 0; i < 10; ++i) launch(i % 2 == 0 ? 40 * kMs : 10'000);
    EXPECT_TRUE(eventually([&] { return seen().measured >= before + 200 * kMs - kHeldUp; }))
        << seen().measured - before;
    EXPECT_LE(seen().measured - before, 200 * kMs + kHeldUp);
  });
}

// The same with only a word on the device changed, which the limiter cannot see.
TEST(Gate, AGraphWhoseLoopRunsMuchLongerThanBeforeIsMeasuredInFull) {
  const World world("l20");
  const Container container({counted(world)});
  in_program([] {
    Program program;
    CUmodule module = nullptr;
    CUfunction look = nullptr;
    CUfunction count_down = nullptr;
    ASSERT_EQ(program.cuModuleLoadData(&module, sim::cuda::test::kSetters), CUDA_SUCCESS);
    ASSERT_EQ(program.cuModuleGetFunction(&look, module, "look"), CUDA_SUCCESS);
    ASSERT_EQ(program.cuModuleGetFunction(&count_down, module, "count_down"), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    CUgraphConditionalHandle handle = 0;
    CUdeviceptr word = program.allocate(sizeof(unsigned));
    ASSERT_EQ(program.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(program.cuGraphConditionalHandleCreate(&handle, graph, program.context, 0, 0),
              CUDA_SUCCESS);
    const auto kernel = [&](CUgraph to, CUfunction function, std::uint64_t ns) {
      void* parameters[] = {&ns, &handle, &word};
      const auto description = one_block(function, parameters);
      CUgraphNode node = nullptr;
      EXPECT_EQ(program.cuGraphAddKernelNode_v2(&node, to, nullptr, 0, &description), CUDA_SUCCESS);
      return node;
    };
    // 10 us, then 4 ms for each count of the word.
    CUgraphNode node = kernel(graph, look, 10'000);
    CUgraphNodeParams loop = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    loop.conditional = {
        .handle = handle, .type = CU_GRAPH_COND_TYPE_WHILE, .size = 1, .ctx = program.context};
    ASSERT_EQ(program.cuGraphAddNode_v2(&node, graph, &node, nullptr, 1, &loop), CUDA_SUCCESS);
    kernel(loop.conditional.phGraph_out[0], count_down, 4 * kMs);
    CUgraphExec exec = nullptr;
    ASSERT_EQ(program.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    const CUstream stream = program.stream();
    const auto launch = [&](unsigned turns) {
      EXPECT_EQ(program.cuMemcpyHtoD_v2(word, &turns, sizeof turns), CUDA_SUCCESS);
      EXPECT_EQ(program.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
      EXPECT_EQ(program.cuStreamSynchronize(stream), CUDA_SUCCESS);
    };
    for (int i = 0; i < 100; ++i) launch(0);
    const std::uint64_t before = seen().measured;
    for (int i = 0; i < 10; ++i) launch(i % 2 == 0 ? 10 : 0);
    EXPECT_TRUE(eventually([&] { return seen().measured >= before + 200 * kMs - kHeldUp; }))
        << seen().measured - before;
  });
}

TEST(Gate, TheFirstCudasLaunchesAreMeasuredToo) {
  const World world("l20");
  const Container container({counted(world)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kFixed, "fixed");
    ASSERT_EQ(program.cuFuncSetBlockShape(spin, 32, 1, 1), CUDA_SUCCESS);
    const CUstream stream = program.stream();
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(program.cuLaunch(spin), CUDA_SUCCESS);
      EXPECT_EQ(program.cuLaunchGrid(spin, 1, 1), CUDA_SUCCESS);
      EXPECT_EQ(program.cuLaunchGridAsync(spin, 1, 1, stream), CUDA_SUCCESS);
    }
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    // 100 ms of each: without one of them the sum would be 200 at most.
    EXPECT_TRUE(eventually([] { return seen().measured >= 298 * kMs - kHeldUp; }))
        << seen().measured;
  });
}

TEST(Gate, HoweverManyStreamsThereAreEachIsMeasured) {
  const World world("l20");
  const Container container({counted(world)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    std::vector<CUstream> streams;
    for (int i = 0; i < 700; ++i) {
      streams.push_back(program.stream());
      EXPECT_EQ(program.spin(spin, 1000, streams.back()), CUDA_SUCCESS);
      EXPECT_EQ(program.cuStreamSynchronize(streams.back()), CUDA_SUCCESS);
    }
    const std::uint64_t before = seen().measured;
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(program.spin(spin, 3 * kMs, streams.back()), CUDA_SUCCESS);
    }
    EXPECT_EQ(program.cuStreamSynchronize(streams.back()), CUDA_SUCCESS);
    // The expected time would be 0.1 ms.
    EXPECT_TRUE(eventually([&] { return seen().measured >= before + 298 * kMs - kHeldUp; }))
        << before << " " << seen().measured;
  });
}

// Their work is expected to take 10 us each, is released by one event, and runs one after the
// other.
TEST(Gate, ManyStreamsThatWaitForOneEventAreMeasuredOnce) {
  const World world("l20");
  const Container container({counted(world)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(program.spin(spin, 10'000), CUDA_SUCCESS);
      EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    }
    CUdeviceptr begin = 0;
    EXPECT_EQ(program.cuMemAlloc_v2(&begin, sizeof(std::uint32_t)), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemsetD8_v2(begin, 0, sizeof(std::uint32_t)), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    const std::uint64_t before = seen().measured;
    const CUstream first = program.stream();
    EXPECT_EQ(program.cuStreamWaitValue32_v2(first, begin, 1, CU_STREAM_WAIT_VALUE_EQ),
              CUDA_SUCCESS);
    const CUevent event = program.event(2);  // no timing
    EXPECT_EQ(program.cuEventRecord(event, first), CUDA_SUCCESS);
    for (int i = 0; i < 600; ++i) {
      const CUstream stream = program.stream();
      EXPECT_EQ(program.cuStreamWaitEvent(stream, event, 0), CUDA_SUCCESS);
      EXPECT_EQ(program.spin(spin, kMs, stream), CUDA_SUCCESS);
    }
    EXPECT_EQ(program.cuStreamWriteValue32_v2(program.stream(), begin, 1, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_TRUE(eventually([&] { return seen().measured >= before + 594 * kMs; }))
        << seen().measured - before;
    EXPECT_LE(seen().measured - before, 660 * kMs) << "each moment counts for one of them";
  });
}

// The GPU is this process's while one of its kernels runs, and that time is shared among them.
TEST(Gate, KernelsThatOverlapAreMeasuredOnce) {
  const World world("l20");
  const Container container({counted(world)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(sim::cuda::test::kSpinOverlapping, "spin");
    std::vector<CUstream> streams;
    for (int i = 0; i < 16; ++i) streams.push_back(program.stream());
    for (int round = 0; round < 20; ++round) {
      for (const CUstream stream : streams) {
        EXPECT_EQ(program.spin(spin, 10 * kMs, stream), CUDA_SUCCESS);
      }
      EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    }
    // Of 200 ms; one after the other would take 3200. Delays of this thread between two launches
    // are between their ends, too.
    EXPECT_TRUE(eventually([] { return seen().measured >= 198 * kMs - kHeldUp; }))
        << seen().measured;
    EXPECT_LE(seen().measured, 200 * kMs + 2 * kHeldUp) << seen().measured;
  });
}

// Delays the calling thread for 2 ms, some microseconds from now, wherever it is then.
class HoldUp {
 public:
  HoldUp() {
    struct sigaction action{};
    action.sa_handler = [](int) {
      const timespec time{0, 2'000'000};
      nanosleep(&time, nullptr);
    };
    sigaction(SIGRTMIN, &action, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMIN;
    timer_create(CLOCK_MONOTONIC, &event, &timer_);
  }
  HoldUp(const HoldUp&) = delete;
  HoldUp& operator=(const HoldUp&) = delete;
  ~HoldUp() { timer_delete(timer_); }
  void in(long us) {
    const itimerspec time{{}, {0, us * 1000}};
    timer_settime(timer_, 0, &time, nullptr);
  }

 private:
  timer_t timer_{};
};

// A thread that is delayed for longer than a batch stays open: each of these launches is delayed
// somewhere, some between the gate and the driver.
TEST(Gate, WhoIsHeldUpWhileItLaunchesIsMeasuredAllTheSame) {
  const World world("l20");
  const Container container({counted(world)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    // After work of another stream, so that none of them runs dry meanwhile.
    EXPECT_EQ(program.spin(spin, 1000 * kMs, program.stream()), CUDA_SUCCESS);
    HoldUp hold_up;
    for (int i = 0; i < 300; ++i) {
      const CUstream stream = program.stream();
      hold_up.in(1 + i % 30);
      EXPECT_EQ(program.spin(spin, 5 * kMs, stream), CUDA_SUCCESS);
    }
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    // With their expected time, the delayed ones would count 1 ms at most.
    EXPECT_TRUE(eventually([&] { return seen().measured >= 2490 * kMs; })) << seen().measured;
    EXPECT_LE(seen().measured, 2600 * kMs);
  });
}

// The same if each of them is delayed between the gate and the GPU's queue: the driver is slow.
TEST(Gate, WhoIsHeldUpBehindTheGateIsMeasuredInFull) {
  const World world("l20");
  const Container container({counted(world)});
  in_program([&] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(program.spin(spin, 10'000), CUDA_SUCCESS);
      EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    }
    const std::uint64_t before = seen().measured;
    const auto sim = world.open();
    ASSERT_TRUE(sim::add_fault(
        *sim, {.kind = sim::FaultKind::kDelay, .function = "cuLaunchKernel", .delay_us = 20'000}));
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(program.spin(spin, 20 * kMs), CUDA_SUCCESS);
      EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    }
    sim::clear_faults(*sim);
    // Of 200 ms, less delays of the thread after the driver's call.
    EXPECT_TRUE(eventually([&] { return seen().measured >= before + 150 * kMs; }))
        << seen().measured - before;
    EXPECT_LE(seen().measured - before, 230 * kMs) << "the time before the GPU had it is not its";
  });
}

// All in progress at once, after an event that has not come.
TEST(Gate, WhatWasNeverMeasuredCountsAsWhatItIsExpectedToTake) {
  const World world("l20");
  const Container container({counted(world)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    CUdeviceptr begin = 0;
    EXPECT_EQ(program.cuMemAlloc_v2(&begin, sizeof(std::uint32_t)), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemsetD8_v2(begin, 0, sizeof(std::uint32_t)), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    const CUstream first = program.stream();
    EXPECT_EQ(program.cuStreamWaitValue32_v2(first, begin, 1, CU_STREAM_WAIT_VALUE_EQ),
              CUDA_SUCCESS);
    const CUevent event = program.event(2);  // no timing
    EXPECT_EQ(program.cuEventRecord(event, first), CUDA_SUCCESS);
    for (int i = 0; i < 700; ++i) {
      const CUstream stream = program.stream();
      EXPECT_EQ(program.cuStreamWaitEvent(stream, event, 0), CUDA_SUCCESS);
      EXPECT_EQ(program.spin(spin, 10'000, stream), CUDA_SUCCESS);
    }
    // Nothing was measured yet, so each counts as 1 ms.
    EXPECT_GE(seen().spent, 700 * kMs);
    EXPECT_EQ(program.cuStreamWriteValue32_v2(program.stream(), begin, 1, 0), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace tranche::test::gate_test
