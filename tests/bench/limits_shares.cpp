// Shares with real processes in wall-clock time, on the simulated GPU: what limit/device_test.cpp
// asserts in virtual time, measured with the whole way (library, arbiter, driver). And how long 200
// processes take that start at once. Figures are the machine's; run it alone.

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>

#include "limits/limited/outer.h"

namespace tranche::test {
namespace {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using namespace std::chrono_literals;
using sim::cuda::test::kSpin;
using sim::cuda::test::Program;
using sim::test::World;
using Clock = std::chrono::steady_clock;

// What the programs of a case share with who measures.
struct Board {
  std::atomic<std::uint64_t> done_ns[8];  // GPU time that ended
  std::atomic<int> ready;
  std::atomic<bool> go;
  std::atomic<bool> end;
};

Board* make_board() {
  void* memory =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (memory) Board{};
}

struct Wish {
  std::uint32_t weight;
  std::optional<std::uint32_t> permille;
  std::uint64_t launch_ns;
  int graph;  // launches in a graph; 0: none
};

// Launches without end, kAhead of them under way; what has ended is written to the board.
constexpr std::uint64_t kAhead = 32;
void storm(Board& board, int index, const Wish& wish) {
  Program program;
  const CUfunction spin = program.function(kSpin, "spin");
  const CUstream stream = program.stream();
  CUgraphExec exec = nullptr;
  if (wish.graph > 0) {
    CUgraph graph = nullptr;
    program.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    for (int i = 0; i < wish.graph; ++i) program.spin(spin, wish.launch_ns, stream);
    program.cuStreamEndCapture(stream, &graph);
    program.cuGraphInstantiateWithFlags(&exec, graph, 0);
  }
  const std::uint64_t each = wish.launch_ns * static_cast<std::uint64_t>(std::max(wish.graph, 1));
  const auto launch = [&] {
    if (exec != nullptr) {
      program.cuGraphLaunch(exec, stream);
    } else {
      program.spin(spin, wish.launch_ns, stream);
    }
  };
  std::array<CUevent, kAhead> events;
  for (CUevent& event : events) event = program.event(2);  // no timing
  ++board.ready;
  while (!board.go) std::this_thread::sleep_for(1ms);
  for (std::uint64_t i = 0; !board.end; ++i) {
    if (i >= kAhead) {
      program.cuEventSynchronize(events[i % kAhead]);
      board.done_ns[index] += each;
    }
    launch();
    program.cuEventRecord(events[i % kAhead], stream);
  }
}

// Prints each tenant's part in percent: mean, and deviation of windows of 100 ms.
void measure(const World& world, const char* name, const std::vector<Wish>& wishes) {
  Board& board = *make_board();
  std::vector<std::unique_ptr<Container>> containers;
  std::vector<pid_t> programs;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    auto limits = part_of(world, kGiB, wishes[i].permille);
    limits.enforcement = wishes[i].permille ? Enforcement::kStrict : Enforcement::kElastic;
    limits.devices[0].weight = wishes[i].weight;
    containers.push_back(std::make_unique<Container>(std::vector{limits}));
    programs.push_back(
        sim::cuda::test::start([&] { storm(board, static_cast<int>(i), wishes[i]); }));
    // Its container is what /run/tranche shows until it has registered.
    while (board.ready < static_cast<int>(i) + 1) std::this_thread::sleep_for(1ms);
  }
  board.go = true;
  std::this_thread::sleep_for(1s);
  constexpr int kWindows = 40;
  std::vector<std::vector<double>> parts(wishes.size());
  std::vector<std::uint64_t> before(wishes.size());
  for (std::size_t i = 0; i < wishes.size(); ++i) before[i] = board.done_ns[i];
  auto last = Clock::now();
  for (int w = 0; w < kWindows; ++w) {
    std::this_thread::sleep_for(100ms);
    const auto now = Clock::now();
    const std::chrono::duration<double, std::nano> width = now - last;
    last = now;
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      const std::uint64_t done = board.done_ns[i];
      parts[i].push_back(100.0 * static_cast<double>(done - before[i]) / width.count());
      before[i] = done;
    }
  }
  board.end = true;
  for (const pid_t pid : programs) waitpid(pid, nullptr, 0);
  std::printf("%-34s", name);
  for (const auto& windows : parts) {
    const double mean = std::accumulate(windows.begin(), windows.end(), 0.0) / kWindows;
    double squares = 0;
    for (const double part : windows) squares += (part - mean) * (part - mean);
    std::printf("  %5.1f %% (sd %4.1f)", mean, std::sqrt(squares / kWindows));
  }
  std::printf("\n");
  std::fflush(stdout);
}

// Each has a context, which takes memory too: on a GPU that has room for them.
void start_storm() {
  const World world("h200");
  constexpr int kProcesses = 200;
  const Container container({part_of(world, 40 * kGiB)});
  Board& board = *make_board();
  std::vector<pid_t> programs;
  const auto begin = Clock::now();
  for (int i = 0; i < kProcesses; ++i) {
    programs.push_back(sim::cuda::test::start([&] {
      Program program;
      CUdeviceptr address = 0;
      if (program.cuMemAlloc_v2(&address, kMiB) == CUDA_SUCCESS) ++board.ready;
      while (!board.end) std::this_thread::sleep_for(10ms);
    }));
  }
  while (board.ready < kProcesses && Clock::now() - begin < 60s) std::this_thread::sleep_for(1ms);
  const std::chrono::duration<double> took = Clock::now() - begin;
  std::printf("%d processes hold memory after %.2f s (%d of them)\n", kProcesses, took.count(),
              board.ready.load());
  board.end = true;
  for (const pid_t pid : programs) waitpid(pid, nullptr, 0);
}

void shares() {
  const World world("l20");
  constexpr std::uint64_t kMs = 1'000'000;
  measure(world, "cap 10, 0.2 ms launches", {{1, 100, kMs / 5, 0}});
  measure(world, "cap 30, 1 ms launches", {{1, 300, kMs, 0}});
  measure(world, "cap 50, 1 ms launches", {{1, 500, kMs, 0}});
  measure(world, "cap 30, graphs of 7 ms", {{1, 300, kMs, 7}});
  measure(world, "caps 10, 30, 50 together",
          {{1, 100, kMs, 0}, {1, 300, kMs, 0}, {1, 500, kMs, 0}});
  measure(world, "weights 1, 2, 4", {{1, {}, kMs, 0}, {2, {}, kMs / 5, 0}, {4, {}, kMs / 2, 0}});
}

int run() {
  shares();
  start_storm();
  return 0;
}

}  // namespace
}  // namespace tranche::test

int main(int, char** arguments) {
  using namespace tranche::test;  // NOLINT(google-build-using-namespace)
  return is_inner() ? run() : with_arbiter([&] { return run_inner(arguments); });
}
