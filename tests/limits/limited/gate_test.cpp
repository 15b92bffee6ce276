// Work passes the gate, is measured, and waits where the policy says so. How well shares are kept
// is asserted in virtual time (limit/device_test.cpp) and measured in tests/bench.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <ctime>
#include <new>
#include <thread>
#include <vector>

#include "limits/limited/container.h"
#include "sim/state/faults.h"

namespace tranche::test::gate_test {
namespace {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using namespace std::chrono_literals;
using sim::cuda::test::in_program;
using sim::cuda::test::kSpin;
using sim::cuda::test::Program;
using sim::test::World;

constexpr std::uint64_t kMs = 1'000'000;

constexpr const char* kFixed = R"(
.version 7.0
.target sm_70
.address_size 64
// tranche-sim: duration-ns = 1000000
.visible .entry fixed() { ret; }
)";

// The usage files that the arbiter has open: it is the one of this process's parents that has any.
std::vector<std::filesystem::path> usage_files() {
  for (pid_t pid = getppid(); pid > 1;) {
    std::vector<std::filesystem::path> files;
    const std::filesystem::path process = "/proc/" + std::to_string(pid);
    for (const auto& entry : std::filesystem::directory_iterator(process / "fd")) {
      std::error_code closed;
      const std::string target = std::filesystem::read_symlink(entry.path(), closed);
      if (target.starts_with("/memfd:tranche-usage")) files.push_back(entry.path());
    }
    if (!files.empty()) return files;
    std::ifstream stat(process / "stat");
    std::string name;
    char state = 0;
    stat >> pid >> name >> state >> pid;
  }
  return {};
}

// What the only tenant's processes tell.
struct Seen {
  std::uint64_t measured;
  std::uint64_t spent;
  std::uint64_t longest;
  std::uint32_t waiting;  // threads at the gate
};
Seen seen() {
  Seen result{};
  for (const auto& file : usage_files()) {
    const int fd = open(file.c_str(), O_RDONLY);
    void* memory = mmap(nullptr, sizeof(limit::wire::UsageFile), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    const auto& usage = *static_cast<const limit::wire::UsageFile*>(memory);
    result.spent += usage.spent_ns[0];
    for (const auto& slot : usage.slot) {
      result.measured += slot.work[0].measured_ns;
      result.longest = std::max<std::uint64_t>(result.longest, slot.longest_ns);
      result.waiting += slot.work[0].waiting;
    }
    munmap(memory, sizeof(limit::wire::UsageFile));
  }
  return result;
}

// Of this process and its children; goes with the last of them.
template <class T>
T* shared() {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) T();
}

// A short launch counts as it was expected when its thread is held up by the system for more than
// 1 ms within a batch: that was closed meanwhile. On a busy machine that befalls a few launches of
// a test.
constexpr std::uint64_t kHeldUp = 50 * kMs;

// What a tenant may have saved when it is first seen waiting: less than this many launches of 1 ms.
constexpr int kSaved = 20;

limit::TenantLimits counted(const World& world) {
  auto limits = part_of(world, kGiB);
  limits.enforcement = Enforcement::kAccount;
  return limits;
}

TEST(Gate, WorkIsMeasured) {
  const World world("l20");
  const Container container({counted(world)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    for (int i = 0; i < 30; ++i) EXPECT_EQ(program.spin(spin, 2 * kMs), CUDA_SUCCESS);
    for (int i = 0; i < 2000; ++i) EXPECT_EQ(program.spin(spin, 20'000), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    // Of 100 ms of work; see kHeldUp. (The driver tells time as floats.)
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
    // The stream begins when everything is in it. Else it runs dry where this thread is held up
    // between two launches, and of one that ended before its end could be recorded only what was
    // expected counts.
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
    // 100 ms of each: without one of them it were 100 at most.
    EXPECT_TRUE(eventually([] { return seen().measured >= 198 * kMs - kHeldUp; }))
        << seen().measured;
    EXPECT_GE(seen().longest, 10 * kMs) << "a graph is one launch";
  });
}

// As one does whose body loops until the device says otherwise: its handle says nothing of how long
// it will take this time.
TEST(Gate, AGraphThatTakesMuchLongerThanBeforeIsMeasuredInFull) {
  const World world("l20");
  const Container container({counted(world)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    std::uint64_t ns = 10'000;
    void* parameters[] = {&ns};
    const CUDA_KERNEL_NODE_PARAMS_v2 node_parameters = {.func = spin,
                                                        .gridDimX = 1,
                                                        .gridDimY = 1,
                                                        .gridDimZ = 1,
                                                        .blockDimX = 1,
                                                        .blockDimY = 1,
                                                        .blockDimZ = 1,
                                                        .kernelParams = parameters};
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

// The same with nothing changed but a word on the device, of which the limiter cannot know.
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
      const CUDA_KERNEL_NODE_PARAMS_v2 description = {.func = function,
                                                      .gridDimX = 1,
                                                      .gridDimY = 1,
                                                      .gridDimZ = 1,
                                                      .blockDimX = 1,
                                                      .blockDimY = 1,
                                                      .blockDimZ = 1,
                                                      .kernelParams = parameters};
      CUgraphNode node = nullptr;
      EXPECT_EQ(program.cuGraphAddKernelNode_v2(&node, to, nullptr, 0, &description), CUDA_SUCCESS);
      return node;
    };
    // 10 us, then 4 ms for each of what the word counts.
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
    // 100 ms of each: without one of them it were 200 at most.
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
    // As expected it were 0.1 ms.
    EXPECT_TRUE(eventually([&] { return seen().measured >= before + 298 * kMs - kHeldUp; }))
        << before << " " << seen().measured;
  });
}

// Their work was expected to take 10 us each, is let go by one event, and runs one after the other.
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

// The GPU is this process's as long as one of its kernels runs, and that time is shared among them.
TEST(Gate, KernelsThatRunBesideEachOtherAreMeasuredOnce) {
  const World world("l20");
  const Container container({counted(world)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(sim::cuda::test::kSpinBeside, "spin");
    std::vector<CUstream> streams;
    for (int i = 0; i < 16; ++i) streams.push_back(program.stream());
    for (int round = 0; round < 20; ++round) {
      for (const CUstream stream : streams) {
        EXPECT_EQ(program.spin(spin, 10 * kMs, stream), CUDA_SUCCESS);
      }
      EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    }
    // Of 200 ms; one after the other they had taken 3200. What the system holds this thread up
    // between two launches is between their ends too.
    EXPECT_TRUE(eventually([] { return seen().measured >= 198 * kMs - kHeldUp; }))
        << seen().measured;
    EXPECT_LE(seen().measured, 200 * kMs + 2 * kHeldUp) << seen().measured;
  });
}

// Holds up the calling thread for 2 ms, some microseconds from now, wherever it is then.
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

// A thread that the system holds up for longer than a batch stands open: each of these launches is
// held up somewhere, some between the gate and the driver.
TEST(Gate, WhoIsHeldUpWhileItLaunchesIsMeasuredAllTheSame) {
  const World world("l20");
  const Container container({counted(world)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    // Behind work of another stream, so that none of them runs dry meanwhile.
    EXPECT_EQ(program.spin(spin, 1000 * kMs, program.stream()), CUDA_SUCCESS);
    HoldUp hold_up;
    for (int i = 0; i < 300; ++i) {
      const CUstream stream = program.stream();
      hold_up.in(1 + i % 30);
      EXPECT_EQ(program.spin(spin, 5 * kMs, stream), CUDA_SUCCESS);
    }
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    // As they were expected to take, those held up would count 1 ms at most.
    EXPECT_TRUE(eventually([&] { return seen().measured >= 2490 * kMs; })) << seen().measured;
    EXPECT_LE(seen().measured, 2600 * kMs);
  });
}

// The same where each of them is held up between the gate and the GPU's queue: the driver is slow.
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
    // Of 200 ms, less what the system holds the thread up behind the driver too.
    EXPECT_TRUE(eventually([&] { return seen().measured >= before + 150 * kMs; }))
        << seen().measured - before;
    EXPECT_LE(seen().measured - before, 230 * kMs) << "the time before the GPU had it is not its";
  });
}

// Ways to have a stream wait for 5 ms of the host's between two short launches.
struct Wait {
  const char* name;
  void (*enqueue)(Program& program, CUstream stream, CUdeviceptr word, unsigned round);
};

void sleep_of_the_host(void*) { std::this_thread::sleep_for(5ms); }

const Wait kWaits[] = {
    {"a host function",
     [](Program& program, CUstream stream, CUdeviceptr, unsigned) {
       EXPECT_EQ(program.cuLaunchHostFunc(stream, sleep_of_the_host, nullptr), CUDA_SUCCESS);
     }},
    {"a callback",
     [](Program& program, CUstream stream, CUdeviceptr, unsigned) {
       const auto sleep = [](CUstream, CUresult, void*) { sleep_of_the_host(nullptr); };
       EXPECT_EQ(program.cuStreamAddCallback(stream, sleep, nullptr, 0), CUDA_SUCCESS);
     }},
    {"another stream's event",
     [](Program& program, CUstream stream, CUdeviceptr, unsigned) {
       static const CUstream other = program.stream();
       const CUevent event = program.event(CU_EVENT_DISABLE_TIMING);
       EXPECT_EQ(program.cuLaunchHostFunc(other, sleep_of_the_host, nullptr), CUDA_SUCCESS);
       EXPECT_EQ(program.cuEventRecord(event, other), CUDA_SUCCESS);
       EXPECT_EQ(program.cuStreamWaitEvent(stream, event, 0), CUDA_SUCCESS);
     }},
    {"a word in memory",
     [](Program& program, CUstream stream, CUdeviceptr word, unsigned round) {
       static const CUstream other = program.stream();
       EXPECT_EQ(program.cuLaunchHostFunc(other, sleep_of_the_host, nullptr), CUDA_SUCCESS);
       EXPECT_EQ(program.cuStreamWriteValue32_v2(other, word, round, 0), CUDA_SUCCESS);
       EXPECT_EQ(program.cuStreamWaitValue32_v2(stream, word, round, CU_STREAM_WAIT_VALUE_EQ),
                 CUDA_SUCCESS);
     }},
};

// The GPU does nothing of this process meanwhile, and another one may have it.
TEST(Gate, TimeInWhichAStreamWaitsForTheHostIsNoWork) {
  const World world("l20");
  const Container container({counted(world)});
  for (const Wait& wait : kWaits) {
    in_program([&] {
      Program program;
      const CUfunction spin = program.function(kSpin, "spin");
      const CUstream stream = program.stream();
      const CUdeviceptr word = program.allocate(sizeof(std::uint32_t));
      EXPECT_EQ(program.cuMemsetD8_v2(word, 0, sizeof(std::uint32_t)), CUDA_SUCCESS);
      for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(program.spin(spin, 10'000, stream), CUDA_SUCCESS);
        EXPECT_EQ(program.cuStreamSynchronize(stream), CUDA_SUCCESS);
      }
      const std::uint64_t before = seen().measured;
      for (unsigned round = 1; round <= 20; ++round) {
        EXPECT_EQ(program.spin(spin, 10'000, stream), CUDA_SUCCESS);
        wait.enqueue(program, stream, word, round);
        EXPECT_EQ(program.spin(spin, 10'000, stream), CUDA_SUCCESS);
        EXPECT_EQ(program.cuStreamSynchronize(stream), CUDA_SUCCESS);
      }
      EXPECT_TRUE(eventually([&] { return seen().measured >= before + 380'000; }));
      // Of 100 ms in which it waited.
      EXPECT_LE(seen().measured - before, 30 * kMs) << wait.name;
    });
  }
}

// Two processes of the container, of which one waits for the other's event.
struct Pair {
  Pair() {
    EXPECT_EQ(pipe(to_importer.data()), 0);
    EXPECT_EQ(pipe(to_exporter.data()), 0);
  }
  static void say(const std::array<int, 2>& ends, const CUipcEventHandle& handle = {}) {
    EXPECT_EQ(write(ends[1], &handle, sizeof handle), ssize_t{sizeof handle});
  }
  static CUipcEventHandle hear(const std::array<int, 2>& ends) {
    CUipcEventHandle handle = {};
    EXPECT_EQ(read(ends[0], &handle, sizeof handle), ssize_t{sizeof handle});
    return handle;
  }
  static CUevent export_to(const std::array<int, 2>& ends, Program& program) {
    const CUevent event = program.event(CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    CUipcEventHandle handle = {};
    EXPECT_EQ(program.cuIpcGetEventHandle(&handle, event), CUDA_SUCCESS);
    say(ends, handle);
    return event;
  }
  static CUevent import_from(const std::array<int, 2>& ends, Program& program) {
    CUevent event = nullptr;
    EXPECT_EQ(program.cuIpcOpenEventHandle(&event, hear(ends)), CUDA_SUCCESS);
    return event;
  }
  std::array<int, 2> to_importer = {};
  std::array<int, 2> to_exporter = {};
};

void work(Program& program, CUfunction spin, CUstream stream, int launches, std::uint64_t ns) {
  for (int i = 0; i < launches; ++i) EXPECT_EQ(program.spin(spin, ns, stream), CUDA_SUCCESS);
  EXPECT_EQ(program.cuStreamSynchronize(stream), CUDA_SUCCESS);
}

TEST(Gate, TimeInWhichAStreamWaitsForAnotherProcessIsNoWork) {
  const World world("l20");
  const Container container({counted(world)});
  const Pair pair;
  constexpr int kRounds = 5;
  const pid_t exporter = sim::cuda::test::start([&] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    const CUstream stream = program.stream();
    const CUevent event = Pair::export_to(pair.to_importer, program);
    for (int round = 0; round < kRounds; ++round) {
      Pair::hear(pair.to_exporter);
      const auto sleep = [](void*) { std::this_thread::sleep_for(20ms); };
      EXPECT_EQ(program.cuLaunchHostFunc(stream, sleep, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(program.cuEventRecord(event, stream), CUDA_SUCCESS);
      Pair::say(pair.to_importer);
    }
    Pair::hear(pair.to_exporter);
    work(program, spin, stream, 25, 2 * kMs);
    Pair::say(pair.to_importer);
    Pair::hear(pair.to_exporter);  // what it measured is read until then
  });
  in_program([&] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    const CUstream stream = program.stream();
    const CUevent event = Pair::import_from(pair.to_importer, program);
    for (int i = 0; i < 100; ++i) work(program, spin, stream, 1, 10'000);
    const std::uint64_t before = seen().measured;
    for (int round = 0; round < kRounds; ++round) {
      Pair::say(pair.to_exporter);
      Pair::hear(pair.to_importer);
      EXPECT_EQ(program.spin(spin, 10'000, stream), CUDA_SUCCESS);
      EXPECT_EQ(program.cuStreamWaitEvent(stream, event, 0), CUDA_SUCCESS);
      work(program, spin, stream, 1, 10'000);
    }
    EXPECT_TRUE(eventually([&] { return seen().measured >= before + 90'000; }));
    // Of 100 ms in which it waited.
    EXPECT_LE(seen().measured - before, 30 * kMs);
    const std::uint64_t waited = seen().measured;
    work(program, spin, stream, 25, 2 * kMs);
    Pair::say(pair.to_exporter);
    Pair::hear(pair.to_importer);
    EXPECT_TRUE(eventually([&] { return seen().measured >= waited + 98 * kMs - kHeldUp; }));
    EXPECT_LE(seen().measured - waited, 100 * kMs + kHeldUp);
    Pair::say(pair.to_exporter);
  });
  sim::cuda::test::expect_success(exporter);
}

// Whichever of the two is killed while a stream waits, the other one and its launches go on.
TEST(Gate, NobodyIsHeldByAProcessThatIsKilledWhileAStreamWaitsForIt) {
  const World world("l20");
  for (const bool is_exporter_killed : {true, false}) {
    SCOPED_TRACE(is_exporter_killed ? "the exporter" : "the importer");
    const Container container({part_of(world, kGiB, 500)});
    const Pair pair;
    const auto spend = [](Program& program, CUfunction spin) {
      work(program, spin, program.stream(), 20, kMs);
    };
    const pid_t exporter = sim::cuda::test::start([&] {
      Program program;
      const CUfunction spin = program.function(kSpin, "spin");
      const CUdeviceptr word = program.allocate(sizeof(std::uint32_t));
      EXPECT_EQ(program.cuMemsetD8_v2(word, 0, sizeof(std::uint32_t)), CUDA_SUCCESS);
      EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
      const CUstream held = program.stream();
      EXPECT_EQ(program.cuStreamWaitValue32_v2(held, word, 1, CU_STREAM_WAIT_VALUE_EQ),
                CUDA_SUCCESS);
      const CUevent event = program.event(CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
      EXPECT_EQ(program.cuEventRecord(event, held), CUDA_SUCCESS);
      CUipcEventHandle handle = {};
      EXPECT_EQ(program.cuIpcGetEventHandle(&handle, event), CUDA_SUCCESS);
      Pair::say(pair.to_importer, handle);
      Pair::hear(pair.to_exporter);
      if (is_exporter_killed) raise(SIGKILL);
      Pair::hear(pair.to_exporter);
      spend(program, spin);
      EXPECT_EQ(program.cuStreamWriteValue32_v2(program.stream(), word, 1, 0), CUDA_SUCCESS);
      EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    });
    const pid_t importer = sim::cuda::test::start([&] {
      Program program;
      const CUfunction spin = program.function(kSpin, "spin");
      const CUstream stream = program.stream();
      const CUevent event = Pair::import_from(pair.to_importer, program);
      EXPECT_EQ(program.spin(spin, kMs, stream), CUDA_SUCCESS);
      EXPECT_EQ(program.cuStreamWaitEvent(stream, event, 0), CUDA_SUCCESS);
      for (int i = 0; i < 20; ++i) EXPECT_EQ(program.spin(spin, kMs, stream), CUDA_SUCCESS);
      EXPECT_EQ(program.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
      Pair::say(pair.to_exporter);
      if (!is_exporter_killed) raise(SIGKILL);
      EXPECT_EQ(program.cuStreamSynchronize(stream), CUDA_SUCCESS);
      spend(program, spin);
    });
    int status = 0;
    const pid_t killed = is_exporter_killed ? exporter : importer;
    EXPECT_EQ(waitpid(killed, &status, 0), killed);
    EXPECT_TRUE(WIFSIGNALED(status)) << status;
    if (!is_exporter_killed) Pair::say(pair.to_exporter);
    sim::cuda::test::expect_success(is_exporter_killed ? importer : exporter);
  }
}

// All at work at once, behind an event that has not come.
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

TEST(Gate, WhoHasUsedItsShareWaits) {
  const World world("l20");
  Container container({part_of(world, kGiB, 1)});  // a thousandth of the GPU's time
  std::atomic<bool>* const enough = shared<std::atomic<bool>>();
  std::atomic<int>* const launched = shared<std::atomic<int>>();
  const pid_t pid = sim::cuda::test::start([&] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    for (; !*enough; ++*launched) EXPECT_EQ(program.spin(spin, kMs), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
  });
  ASSERT_TRUE(eventually([&] { return *launched > 0 && seen().waiting > 0; }));
  // From here on a launch of 1 ms takes a second of its share, however slow this machine is.
  const int before = *launched;
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(300ms);
  const int after = *launched;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
  EXPECT_LE(after - before, seconds.count() + kSaved);
  container.change([](limit::TenantLimits& limits) { limits.devices[0].permille.reset(); });
  EXPECT_TRUE(eventually([&] { return *launched >= after + 200; })) << "nothing holds it any more";
  *enough = true;
  sim::cuda::test::expect_success(pid);
}

sigjmp_buf out_of_the_gate;

// A handler of the program's takes the thread out of the gate: nothing of the limiter's that stands
// behind the wait runs.
TEST(Gate, WhoLeavesItByLongjmpDoesNotWaitAnyMore) {
  const World world("l20");
  const Container container({part_of(world, kGiB, 1)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    std::atomic<bool> has_left = false;
    std::atomic<int> mode = -1;
    std::atomic<int> cancelled = -1;
    std::jthread thread([&] {
      EXPECT_EQ(program.cuCtxSetCurrent(program.context), CUDA_SUCCESS);
      if (sigsetjmp(out_of_the_gate, 1) == 0) {
        for (;;) EXPECT_EQ(program.spin(spin, 10 * kMs), CUDA_SUCCESS);
      }
      int state = 0;
      pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
      cancelled = state;
      CUstreamCaptureMode before = CU_STREAM_CAPTURE_MODE_GLOBAL;
      EXPECT_EQ(program.cuThreadExchangeStreamCaptureMode(&before), CUDA_SUCCESS);
      mode = static_cast<int>(before);
      has_left = true;
    });
    struct sigaction action{};
    action.sa_handler = [](int) { siglongjmp(out_of_the_gate, 1); };
    sigaction(SIGUSR1, &action, nullptr);
    ASSERT_TRUE(eventually([] { return seen().waiting == 1; }));
    // It sleeps, or holds signals off until it does.
    pthread_kill(thread.native_handle(), SIGUSR1);
    ASSERT_TRUE(eventually([&] { return has_left.load(); }));
    EXPECT_EQ(cancelled, PTHREAD_CANCEL_ENABLE);
    EXPECT_EQ(mode, static_cast<int>(CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT_TRUE(eventually([] { return seen().waiting == 0; })) << seen().waiting;
  });
}

TEST(Gate, AnArbiterThatComesLateIsFound) {
  const World world("l20");
  const std::filesystem::path late = "/run/limits/late";
  std::filesystem::create_directories(late / "tenant");
  std::filesystem::remove("/run/tranche");
  std::filesystem::create_directory_symlink(late, "/run/tranche");
  const auto limits = counted(world);
  in_program([&] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    EXPECT_EQ(program.spin(spin, kMs), CUDA_SUCCESS) << "compute is open";
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    // Now there is one: the same name in the container leads to its socket.
    const Container container({limits});
    const auto view = std::filesystem::read_symlink("/run/tranche");
    std::filesystem::remove(late / "tenant");
    std::filesystem::create_directory_symlink(*std::filesystem::directory_iterator(view),
                                              late / "tenant");
    std::filesystem::remove("/run/tranche");
    std::filesystem::create_directory_symlink(late, "/run/tranche");
    EXPECT_TRUE(eventually([&] {
      EXPECT_EQ(program.spin(spin, kMs), CUDA_SUCCESS);
      EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
      return seen().measured > 0;
    }));
  });
  std::filesystem::remove("/run/tranche");
  std::filesystem::remove_all(late);
}

TEST(Gate, CapturesPassWhileItIsClosed) {
  const World world("l20");
  const Container container({part_of(world, kGiB, 1)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    const CUstream stream = program.stream();
    CUgraph graph = nullptr;
    EXPECT_EQ(program.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(program.spin(spin, kMs, stream), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    std::size_t count = 0;
    EXPECT_EQ(program.cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
    EXPECT_EQ(count, 1000U);
  });
}

// Another thread's measuring is no part of the graph, and breaks no capture.
TEST(Gate, WorkBesideACaptureLeavesItWhole) {
  const World world("l20");
  const Container container({part_of(world, kGiB)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    const CUstream captured = program.stream();
    std::atomic<bool> end = false;
    std::jthread other([&] {
      EXPECT_EQ(program.cuCtxSetCurrent(program.context), CUDA_SUCCESS);
      const CUstream stream = program.stream();
      while (!end) EXPECT_EQ(program.spin(spin, 50'000, stream), CUDA_SUCCESS);
      EXPECT_EQ(program.cuStreamSynchronize(stream), CUDA_SUCCESS);
    });
    for (int round = 0; round < 20; ++round) {
      CUgraph graph = nullptr;
      ASSERT_EQ(program.cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                CUDA_SUCCESS);
      for (int i = 0; i < 50; ++i) ASSERT_EQ(program.spin(spin, 1000, captured), CUDA_SUCCESS);
      ASSERT_EQ(program.cuStreamEndCapture(captured, &graph), CUDA_SUCCESS);
      std::size_t count = 0;
      EXPECT_EQ(program.cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
      EXPECT_EQ(count, 50U);
    }
    end = true;
  });
}

TEST(Gate, StreamsAndContextsMayEndUnderWay) {
  const World world("l20");
  const Container container({part_of(world, kGiB)});
  in_program([] {
    Program program;
    for (int round = 0; round < 20; ++round) {
      CUcontext context = nullptr;
      ASSERT_EQ(program.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
      const CUfunction spin = program.function(kSpin, "spin");
      for (int s = 0; s < 10; ++s) {
        const CUstream stream = program.stream();
        EXPECT_EQ(program.spin(spin, 30'000, stream), CUDA_SUCCESS);
        EXPECT_EQ(program.spin(spin, 30'000), CUDA_SUCCESS);
        EXPECT_EQ(program.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
      }
      EXPECT_EQ(program.cuCtxDestroy_v2(context), CUDA_SUCCESS);
      ASSERT_EQ(program.cuCtxSetCurrent(program.context), CUDA_SUCCESS);
    }
    CUcontext primary = nullptr;
    for (int round = 0; round < 10; ++round) {
      ASSERT_EQ(program.cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
      ASSERT_EQ(program.cuCtxSetCurrent(primary), CUDA_SUCCESS);
      const CUfunction spin = program.function(kSpin, "spin");
      EXPECT_EQ(program.spin(spin, 30'000), CUDA_SUCCESS);
      EXPECT_EQ(program.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
      ASSERT_EQ(program.cuCtxSetCurrent(program.context), CUDA_SUCCESS);
    }
    const CUfunction spin = program.function(kSpin, "spin");
    EXPECT_EQ(program.spin(spin, kMs), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
  });
}

TEST(Gate, ManyThreadsAndStreamsAtOnce) {
  const World world("l20");
  const Container container({part_of(world, kGiB)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        EXPECT_EQ(program.cuCtxSetCurrent(program.context), CUDA_SUCCESS);
        for (int round = 0; round < 5; ++round) {
          const CUstream stream = t % 2 == 0 ? program.stream() : nullptr;
          for (int i = 0; i < 100; ++i) {
            std::uint64_t ns = 2000;
            void* parameters[] = {&ns};
            const auto launch = t % 4 == 1 ? program.cuLaunchKernel_ptsz : program.cuLaunchKernel;
            EXPECT_EQ(launch(spin, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), CUDA_SUCCESS);
          }
          EXPECT_EQ(program.cuStreamSynchronize(stream), CUDA_SUCCESS);
          if (stream == nullptr) continue;
          EXPECT_EQ(program.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
        }
      });
    }
  });
}

// Whether a thread of `process`, which is stopped, holds a lock of the simulated GPU. These lie in
// memory that its clients share; a real GPU has none.
bool holds_a_lock(const sim::State& state, pid_t process) {
  const auto tasks = std::filesystem::path("/proc") / std::to_string(process) / "task";
  const auto held = [&](const pthread_mutex_t& lock) {
    // Of a robust mutex the kernel reads the owner from this word, and so does this.
    const auto word = static_cast<unsigned>(lock.__data.__lock);
    const unsigned owner = word & FUTEX_TID_MASK;
    return owner != 0 && std::filesystem::exists(tasks / std::to_string(owner));
  };
  return held(state.lock) || held(state.clock_lock) ||
         std::ranges::any_of(state.turns, [&](const sim::Turns& one) { return held(one.lock); });
}

// Stops a child where it holds none of them: one that does goes on and is stopped again.
void stop_outside_of_the_gpu(const sim::State& state, pid_t child) {
  for (;;) {
    ASSERT_EQ(kill(child, SIGSTOP), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status)) << status;
    if (!holds_a_lock(state, child)) return;
    ASSERT_EQ(kill(child, SIGCONT), 0);
  }
}

// Stopped (a debugger, a frozen container) with work under way, of which nothing is told any more.
TEST(Gate, AStoppedNeighbourHoldsNobodyUp) {
  const World world("l20");
  int ready[2];
  int stopped[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(stopped), 0);
  const Container container({part_of(world, kGiB)});
  const pid_t neighbour = sim::cuda::test::start([&] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    for (int i = 0;; ++i) {
      program.spin(spin, kMs);
      if (i == 100) {
        EXPECT_EQ(write(ready[1], "1", 1), 1);
      }
    }
  });
  char c = 0;
  ASSERT_EQ(read(ready[0], &c, 1), 1);
  {
    const Container other({part_of(world, kGiB)});
    const pid_t program = sim::cuda::test::start([&] {
      Program p;
      const CUfunction spin = p.function(kSpin, "spin");
      EXPECT_EQ(p.spin(spin, kMs), CUDA_SUCCESS);
      EXPECT_EQ(write(ready[1], "1", 1), 1);
      EXPECT_EQ(read(stopped[0], &c, 1), 1);
      for (int i = 0; i < 300; ++i) EXPECT_EQ(p.spin(spin, kMs), CUDA_SUCCESS);
      EXPECT_EQ(p.cuCtxSynchronize(), CUDA_SUCCESS);
    });
    EXPECT_EQ(read(ready[0], &c, 1), 1);
    stop_outside_of_the_gpu(world.open()->state(), neighbour);
    EXPECT_EQ(write(stopped[1], "1", 1), 1);
    int status = -1;
    const bool ended = eventually([&] { return waitpid(program, &status, WNOHANG) == program; });
    EXPECT_TRUE(ended) << "it waits for work of which nobody will tell";
    kill(neighbour, SIGKILL);
    EXPECT_EQ(waitpid(neighbour, nullptr, 0), neighbour);
    if (!ended) sim::cuda::test::expect_success(program);
    if (ended) {
      EXPECT_EQ(status, 0);
    }
  }
}

TEST(Gate, AForkedChildBeginsAnew) {
  const World world("l20");
  const Container container({part_of(world, 512 * kMiB)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    EXPECT_NE(program.allocate(300 * kMiB), 0U);
    EXPECT_EQ(program.spin(spin, kMs), CUDA_SUCCESS);
    // The driver does not work in it; it must not hang, nor give back what is its parent's.
    in_program([&] {
      CUdeviceptr address = 0;
      EXPECT_EQ(program.cuMemAlloc_v2(&address, kMiB), CUDA_ERROR_NOT_INITIALIZED);
      EXPECT_NE(program.spin(spin, kMs), CUDA_SUCCESS);
    });
    // Nor in one that was made past the C library.
    std::fflush(nullptr);
    const auto pid = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0));
    if (pid == 0) {
      CUdeviceptr address = 0;
      _exit(program.cuMemAlloc_v2(&address, kMiB) == CUDA_ERROR_NOT_INITIALIZED &&
                    program.spin(spin, kMs) == CUDA_ERROR_NOT_INITIALIZED &&
                    program.cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED
                ? 0
                : 1);
    }
    sim::cuda::test::expect_success(pid);
    CUdeviceptr address = 0;
    EXPECT_EQ(program.cuMemAlloc_v2(&address, 300 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(program.cuMemAlloc_v2(&address, 200 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace tranche::test::gate_test
