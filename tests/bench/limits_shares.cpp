// Shares of real processes in wall-clock time, on the simulated GPU: what limit/device_test.cpp
// asserts in virtual time, measured through library, arbiter and driver. And how long 200 processes
// take to start at once. Figures depend on the machine; run it alone.

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>

#include "fmt/format.h"
#include "limits/limited/outer.h"

namespace tranche::test {
namespace {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using namespace std::chrono_literals;
using sim::cuda::test::kSpin;
using sim::cuda::test::Program;
using sim::test::World;
using Clock = std::chrono::steady_clock;

// Shared by a case's programs and the measuring process.
struct Board {
  std::atomic<std::uint64_t> done_ns[8];  // finished GPU time
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
  int streams;
  enum class Shape {
    kInTurn,   // one launch after the other, each in the next stream
    kRounds,   // one launch in each stream, then a wait for all
    kPolling,  // the same, with polling
    kThreads,  // each stream has a thread, which waits for each launch
  } shape = Shape::kInTurn;
};

// Keeps launching; writes what has ended to the board.
class Storm {
 public:
  Storm(Board& board, int index, const Wish& wish)
      : board_(board), index_(index), wish_(wish), spin_(program_.function(kSpin, "spin")) {
    for (int i = 0; i < wish.streams; ++i) streams_.push_back(program_.stream());
    if (wish.graph == 0) return;
    CUgraph graph = nullptr;
    program_.cuStreamBeginCapture_v2(streams_[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    for (int i = 0; i < wish.graph; ++i) program_.spin(spin_, wish.launch_ns, streams_[0]);
    program_.cuStreamEndCapture(streams_[0], &graph);
    program_.cuGraphInstantiateWithFlags(&exec_, graph, 0);
  }

  void run() {
    ++board_.ready;
    while (!board_.go) std::this_thread::sleep_for(1ms);
    switch (wish_.shape) {
      case Wish::Shape::kInTurn:
        return in_turn();
      case Wish::Shape::kRounds:
        return in_rounds([&] { program_.cuCtxSynchronize(); });
      case Wish::Shape::kPolling:
        return in_rounds([&] {
          for (const CUstream stream : streams_) {
            while (program_.cuStreamQuery(stream) != CUDA_SUCCESS)
              std::this_thread::sleep_for(50us);
          }
        });
      case Wish::Shape::kThreads:
        return in_threads();
    }
  }

 private:
  // Launches in progress, at least one in each stream.
  static constexpr std::size_t kAhead = 32;

  void launch(CUstream stream) {
    if (exec_ != nullptr) {
      program_.cuGraphLaunch(exec_, stream);
    } else {
      program_.spin(spin_, wish_.launch_ns, stream);
    }
  }
  void ended(std::size_t count) {
    const auto launches = static_cast<std::uint64_t>(std::max(wish_.graph, 1)) * count;
    board_.done_ns[index_] += wish_.launch_ns * launches;
  }
  void in_turn() {
    const std::size_t ahead = std::max(kAhead, streams_.size());
    std::vector<CUevent> events(ahead);
    for (CUevent& event : events) event = program_.event(2);  // no timing
    for (std::size_t i = 0; !board_.end; ++i) {
      if (i >= ahead) {
        program_.cuEventSynchronize(events[i % ahead]);
        ended(1);
      }
      const CUstream stream = streams_[i % streams_.size()];
      launch(stream);
      program_.cuEventRecord(events[i % ahead], stream);
    }
  }
  void in_rounds(const std::function<void()>& wait) {
    while (!board_.end) {
      for (const CUstream stream : streams_) launch(stream);
      wait();
      ended(streams_.size());
    }
  }
  void in_threads() {
    std::vector<std::jthread> threads;
    for (const CUstream stream : streams_) {
      threads.emplace_back([this, stream] {
        program_.cuCtxSetCurrent(program_.context);
        while (!board_.end) {
          launch(stream);
          program_.cuStreamSynchronize(stream);
          ended(1);
        }
      });
    }
  }

  Program program_;
  Board& board_;
  int index_;
  const Wish& wish_;
  CUfunction spin_;
  std::vector<CUstream> streams_;
  CUgraphExec exec_ = nullptr;
};

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
        sim::cuda::test::start([&] { Storm(board, static_cast<int>(i), wishes[i]).run(); }));
    // /run/tranche shows its container until it has registered.
    while (board.ready < static_cast<int>(i) + 1) std::this_thread::sleep_for(1ms);
  }
  board.go = true;
  std::this_thread::sleep_for(1s);
  // With a small share a round of many streams takes most of a second.
  const bool is_wide = std::ranges::any_of(wishes, [](const Wish& w) { return w.streams > 64; });
  const int windows = is_wide ? 200 : 40;
  std::vector<std::vector<double>> parts(wishes.size());
  std::vector<std::uint64_t> before(wishes.size());
  for (std::size_t i = 0; i < wishes.size(); ++i) before[i] = board.done_ns[i];
  auto last = Clock::now();
  for (int w = 0; w < windows; ++w) {
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
  for (const auto& each : parts) {
    const double mean = std::accumulate(each.begin(), each.end(), 0.0) / windows;
    double squares = 0;
    for (const double part : each) squares += (part - mean) * (part - mean);
    std::printf("  %5.1f %% (sd %4.1f)", mean, std::sqrt(squares / windows));
  }
  std::printf("\n");
  std::fflush(stdout);
}

// Each has a context, which takes memory too, so the GPU must have room for them.
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

// One process with work in several streams, alone and next to a neighbour that always works.
void streams() {
  const World world("l20");
  constexpr std::uint64_t kMs = 1'000'000;
  using enum Wish::Shape;
  const auto one = [&](const char* how, int count, std::uint64_t each, Wish::Shape shape) {
    const auto name = fmt::format("cap 30, {} x {} us {}", count, each / 1000, how);
    measure(world, name.c_str(), {{1, 300, each, 0, count, shape}});
  };
  const auto all = [&](int count, std::uint64_t each) {
    one("in turn", count, each, kInTurn);
    one("in rounds", count, each, kRounds);
    one("polled", count, each, kPolling);
    if (count <= 64) one("by threads", count, each, kThreads);
  };
  all(8, kMs / 5);
  all(16, kMs / 2);
  all(16, kMs);
  all(500, kMs / 2);
  all(800, kMs / 2);
  const Wish neighbour{1, 500, kMs, 0, 1};
  measure(world, "cap 30, 16 x 500 us in turn; 50", {{1, 300, kMs / 2, 0, 16}, neighbour});
}

// Graphs of several milliseconds next to a neighbour that launches 1 ms at a time.
void graphs() {
  const World world("l20");
  constexpr std::uint64_t kMs = 1'000'000;
  const Wish half{1, 500, kMs, 0, 1};
  const Wish most{1, 700, kMs, 0, 1};
  const Wish unbound{1, {}, kMs, 0, 1};
  measure(world, "cap 50, graphs of 4 ms; cap 50", {{1, 500, kMs, 4, 1}, half});
  measure(world, "cap 50, graphs of 7 ms; cap 50", {{1, 500, kMs, 7, 1}, half});
  measure(world, "cap 30, graphs of 4 ms; cap 50", {{1, 300, kMs, 4, 1}, half});
  measure(world, "cap 30, graphs of 7 ms; cap 70", {{1, 300, kMs, 7, 1}, most});
  measure(world, "cap 30, graphs of 7 ms; no cap", {{1, 300, kMs, 7, 1}, unbound});
}

void shares() {
  const World world("l20");
  constexpr std::uint64_t kMs = 1'000'000;
  measure(world, "cap 10, 0.2 ms launches", {{1, 100, kMs / 5, 0, 1}});
  measure(world, "cap 30, 1 ms launches", {{1, 300, kMs, 0, 1}});
  measure(world, "cap 50, 1 ms launches", {{1, 500, kMs, 0, 1}});
  measure(world, "cap 30, graphs of 7 ms", {{1, 300, kMs, 7, 1}});
  measure(world, "caps 10, 30, 50 together",
          {{1, 100, kMs, 0, 1}, {1, 300, kMs, 0, 1}, {1, 500, kMs, 0, 1}});
  measure(world, "weights 1, 2, 4",
          {{1, {}, kMs, 0, 1}, {2, {}, kMs / 5, 0, 1}, {4, {}, kMs / 2, 0, 1}});
}

// All of it, or the named parts: shares, streams, graphs, start.
int run(int count, char** arguments) {
  const auto wanted = [&](std::string_view name) {
    return count < 2 || std::any_of(
                            arguments + 1, arguments + count,
                            [&](const char* argument) { return argument == name; });
  };
  if (wanted("shares")) shares();
  if (wanted("streams")) streams();
  if (wanted("graphs")) graphs();
  if (wanted("start")) start_storm();
  return 0;
}

}  // namespace
}  // namespace tranche::test

int main(int count, char** arguments) {
  using namespace tranche::test;  // NOLINT(google-build-using-namespace)
  return is_inner() ? run(count, arguments) : with_arbiter([&] { return run_inner(arguments); });
}
