// Work waits at the gate where the policy says so. How well shares are kept is asserted in virtual
// time (limit/device_test.cpp) and measured in tests/bench.

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <thread>
#include <vector>

#include "limits/limited/gate_testing.h"

namespace tranche::test::gate_test {
namespace {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using namespace std::chrono_literals;
using sim::cuda::test::in_program;
using sim::cuda::test::kSpin;
using sim::cuda::test::Program;

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
  // From here on a launch of 1 ms takes a second of its share, on any machine.
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

// A signal handler of the program takes the thread out of the gate: none of the limiter's code
// after the wait runs.
TEST(Gate, WhoLeavesItByLongjmpDoesNotWaitAnyMore) {
  const World world("l20");
  const Container container({part_of(world, kGiB, 1)});
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    std::atomic<bool> has_left = false;
    std::atomic<int> mode = -1;
    std::atomic<int> cancelled = -1;
    std::atomic<int> launched = 0;
    std::jthread thread([&] {
      EXPECT_EQ(program.cuCtxSetCurrent(program.context), CUDA_SUCCESS);
      if (sigsetjmp(out_of_the_gate, 1) == 0) {
        for (;; ++launched) EXPECT_EQ(program.spin(spin, 10 * kMs), CUDA_SUCCESS);
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
    // It waits for long, a launch takes ten seconds of its share. Earlier waits are short: a signal
    // might find the thread in the driver, whose locks nobody may leave.
    ASSERT_TRUE(eventually([&] {
      const int before = launched;
      std::this_thread::sleep_for(200ms);
      return before > 0 && launched == before && seen().waiting == 1;
    }));
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

// Another thread's measuring is not in the graph, and breaks no capture.
TEST(Gate, WorkDuringACaptureLeavesItWhole) {
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

// Whether a thread of the stopped `process` holds a lock of the simulated GPU. These locks are in
// memory that its clients share; a real GPU has none.
bool holds_a_lock(const sim::State& state, pid_t process) {
  const auto tasks = std::filesystem::path("/proc") / std::to_string(process) / "task";
  const auto held = [&](const pthread_mutex_t& lock) {
    // The kernel reads a robust mutex's owner from this word.
    const auto word = static_cast<unsigned>(lock.__data.__lock);
    const unsigned owner = word & FUTEX_TID_MASK;
    return owner != 0 && std::filesystem::exists(tasks / std::to_string(owner));
  };
  return held(state.lock) || held(state.clock_lock) ||
         std::ranges::any_of(state.turns, [&](const sim::Turns& one) { return held(one.lock); });
}

// Stops a child where it holds none of them; otherwise resumes and stops it again.
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

// Stopped (a debugger, a frozen container) with unfinished work, about which nothing more is
// reported.
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
    // The driver does not work in it; it must neither hang nor release what is its parent's.
    in_program([&] {
      CUdeviceptr address = 0;
      EXPECT_EQ(program.cuMemAlloc_v2(&address, kMiB), CUDA_ERROR_NOT_INITIALIZED);
      EXPECT_NE(program.spin(spin, kMs), CUDA_SUCCESS);
    });
    // Nor in one that was made by a clone() of its own.
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
