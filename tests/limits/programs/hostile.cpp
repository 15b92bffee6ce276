// A program that works against its promised share of the GPU's time. Arguments: what it does (none:
// a neighbour that always works), and the seconds; prints the time it had of each.
//
//   neighbour  launches of 1 ms, 32 ahead
//   spent      the same, and keeps writing 0 where its container counts what it asked for
//   silent     the same, and writes 0 over all its reports
//   waits      one launch, and then reports for ever that it waits
//   hints      the same, and launches 10 us each 50 ms
//   rare       launches 10 us each 50 ms and reports nothing untrue
//   flood      600 streams wait for one event; then work that is 4000 times as long as before

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "cuda_calls.h"

extern "C" {
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamWaitEvent(void* stream, void* event, unsigned flags);
int cuEventCreate(void** event, unsigned flags);
int cuEventRecord(void* event, void* stream);
int cuEventQuery(void* event);
int cuEventSynchronize(void* event);
int cuStreamWaitValue32_v2(void* stream, std::uint64_t address, std::uint32_t value,
                           unsigned flags);
int cuStreamWriteValue32_v2(void* stream, std::uint64_t address, std::uint32_t value,
                            unsigned flags);
}

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kMs = 1'000'000;

std::atomic<std::uint64_t> done_ns;
std::atomic<bool> has_ended;

// The usage memory of the container, as one of its processes finds it.
struct Memory {
  char* begin = nullptr;
  std::size_t size = 0;
};
Memory usage() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("tranche-usage") == std::string::npos && line.find(".usage") == std::string::npos)
      continue;
    unsigned long begin = 0;
    unsigned long end = 0;
    std::sscanf(line.c_str(), "%lx-%lx", &begin, &end);
    return {reinterpret_cast<char*>(begin), end - begin};
  }
  std::fprintf(stderr, "no usage memory\n");
  std::exit(1);
}

void forge(bool all) {
  const Memory memory = usage();
  constexpr std::size_t kSpent = 64;  // limit/wire.h, spent_ns
  constexpr std::size_t kSpentBytes = 128;
  while (!has_ended) {
    std::memset(memory.begin + kSpent, 0, all ? memory.size - kSpent : kSpentBytes);
    if (all) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

// Writes into every slot of the container, and so into its own, that threads wait there.
// (limit/wire.h: the slots, DeviceWork::waiting of the first device.)
void say_that_it_waits() {
  const Memory memory = usage();
  constexpr std::size_t kFirst = 192;
  constexpr std::size_t kWaiting = 16 + 32;
  constexpr std::size_t kSlots = 1024;
  const std::size_t each = (memory.size - kFirst) / kSlots;
  while (!has_ended) {
    for (std::size_t slot = 0; slot < 4; ++slot) {
      const std::uint32_t one = 1;
      std::memcpy(memory.begin + kFirst + slot * each + kWaiting, &one, sizeof(one));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void launch_now_and_then(Cuda& cuda, void* kernel, bool often) {
  OK(cuCtxSetCurrent(cuda.context));
  do {
    OK(Cuda::spin(kernel, 10'000));
    OK(cuCtxSynchronize());
    done_ns += 10'000;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  } while (often && !has_ended);
}

void work(Cuda& cuda, void* kernel) {
  constexpr std::size_t kAhead = 32;
  void* events[kAhead] = {};
  void* stream = nullptr;
  OK(cuCtxSetCurrent(cuda.context));
  OK(cuStreamCreate(&stream, 1));
  for (void*& event : events) OK(cuEventCreate(&event, 2));
  for (std::size_t i = 0; !has_ended; ++i) {
    if (i >= kAhead) {
      OK(cuEventSynchronize(events[i % kAhead]));
      done_ns += kMs;
    }
    OK(Cuda::spin(kernel, kMs, stream));
    OK(cuEventRecord(events[i % kAhead], stream));
  }
}

void flood(Cuda& cuda, void* kernel) {
  constexpr std::uint64_t kLong = 40 * kMs;
  OK(cuCtxSetCurrent(cuda.context));
  for (int i = 0; i < 300; ++i) {
    OK(Cuda::spin(kernel, 10'000));
    OK(cuCtxSynchronize());
  }
  std::uint64_t word = 0;
  void* first = nullptr;
  void* event = nullptr;
  OK(cuMemAlloc_v2(&word, 4));
  OK(cuStreamCreate(&first, 1));
  OK(cuEventCreate(&event, 2));
  OK(cuStreamWriteValue32_v2(first, word, 0, 0));
  OK(cuStreamWaitValue32_v2(first, word, 1, 1));
  OK(cuEventRecord(event, first));
  std::vector<void*> ends;
  for (int i = 0; i < 600; ++i) {
    void* stream = nullptr;
    OK(cuStreamCreate(&stream, 1));
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(Cuda::spin(kernel, kLong, stream));
    OK(cuEventCreate(&ends.emplace_back(), 2));
    OK(cuEventRecord(ends.back(), stream));
  }
  void* other = nullptr;
  OK(cuStreamCreate(&other, 1));
  OK(cuStreamWriteValue32_v2(other, word, 1, 0));
  while (!has_ended && !ends.empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (std::size_t i = 0; i < ends.size();) {
      if (cuEventQuery(ends[i]) != 0) {
        ++i;
        continue;
      }
      done_ns += kLong;
      ends[i] = ends.back();
      ends.pop_back();
    }
  }
  work(cuda, kernel);
}

}  // namespace

int main(int, char** arguments) {
  const std::string what = arguments[1];
  const int seconds = std::atoi(arguments[2]);
  Cuda cuda;
  void* kernel = cuda.spin_kernel();
  std::thread worker([&] {
    if (what == "flood") return flood(cuda, kernel);
    if (what == "waits" || what == "hints" || what == "rare")
      return launch_now_and_then(cuda, kernel, what != "waits");
    work(cuda, kernel);
  });
  std::thread forger([&] {
    if (what == "waits" || what == "hints") say_that_it_waits();
    if (what == "spent" || what == "silent") forge(what == "silent");
  });
  for (int i = 0; i < seconds; ++i) {
    const std::uint64_t before = done_ns;
    const auto begin = Clock::now();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    std::printf("%.1f\n", 100.0 * static_cast<double>(done_ns - before) / took.count());
    std::fflush(stdout);
  }
  std::_Exit(0);  // its threads wait at the gate
}
