// Time in which a stream waits for somebody is no work, and delays nobody.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <csignal>
#include <thread>

#include "limits/limited/gate_testing.h"

namespace tranche::test::gate_test {
namespace {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using namespace std::chrono_literals;
using sim::cuda::test::in_program;
using sim::cuda::test::kSpin;
using sim::cuda::test::Program;

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

// The GPU does nothing for this process meanwhile, and another one may use it.
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
  static CUipcEventHandle receive(const std::array<int, 2>& ends) {
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
    EXPECT_EQ(program.cuIpcOpenEventHandle(&event, receive(ends)), CUDA_SUCCESS);
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
      Pair::receive(pair.to_exporter);
      const auto sleep = [](void*) { std::this_thread::sleep_for(20ms); };
      EXPECT_EQ(program.cuLaunchHostFunc(stream, sleep, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(program.cuEventRecord(event, stream), CUDA_SUCCESS);
      Pair::say(pair.to_importer);
    }
    Pair::receive(pair.to_exporter);
    work(program, spin, stream, 25, 2 * kMs);
    Pair::say(pair.to_importer);
    Pair::receive(pair.to_exporter);  // what it measured is read until then
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
      Pair::receive(pair.to_importer);
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
    Pair::receive(pair.to_importer);
    EXPECT_TRUE(eventually([&] { return seen().measured >= waited + 98 * kMs - kHeldUp; }));
    EXPECT_LE(seen().measured - waited, 100 * kMs + kHeldUp);
    Pair::say(pair.to_exporter);
  });
  sim::cuda::test::expect_success(exporter);
}

// If either of the two is killed while a stream waits, the other one and its launches continue.
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
      Pair::receive(pair.to_exporter);
      if (is_exporter_killed) raise(SIGKILL);
      Pair::receive(pair.to_exporter);
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

}  // namespace
}  // namespace tranche::test::gate_test
