// A signal handler of the program takes a thread out of one of the limiter's waits for memory by
// siglongjmp: none of the limiter's code after the wait runs, and nothing stays held.

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "limit/wire.h"
#include "limits/limited/container.h"
#include "limits/limited/gate_testing.h"

namespace tranche::test::leave_test {
namespace {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using sim::cuda::test::in_program;
using sim::cuda::test::kSpin;
using sim::cuda::test::Program;
using sim::test::World;

constexpr std::uint64_t kLimit = kGiB;
constexpr std::uint64_t kWanted = 300 * kMiB;
constexpr std::uint64_t kForged = 1200 * kMiB;

limit::wire::UsageFile& usage_file() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:tranche-usage") == std::string::npos) continue;
    return *reinterpret_cast<limit::wire::UsageFile*>(std::stoull(line, nullptr, 16));  // NOLINT
  }
  ADD_FAILURE() << "this process has not registered";
  std::abort();
}

limit::wire::Slot& own_slot() {
  for (limit::wire::Slot& slot : usage_file().slot) {
    if (slot.inner_pid == static_cast<std::uint32_t>(getpid())) return slot;
  }
  ADD_FAILURE() << "this process has no slot";
  std::abort();
}

// What keeps an allocation waiting, and its end.
struct Reason {
  const char* name;
  void (*begin)();
  void (*end)();
};
const Reason kReasons[] = {
    {"a sibling stands in the middle of a charge",
     [] {
       auto& sibling = usage_file().slot[1];
       usage_file().slots = 2;
       sibling.inner_pid = static_cast<std::uint32_t>(getpid());
       sibling.deciding[0] = 1;
       sibling.charged[0] = kForged;
     },
     [] {
       usage_file().slot[1].charged[0] = 0;
       usage_file().slot[1].deciding[0] = 2;
       usage_file().slot[1].inner_pid = 0;
     }},
    {"NVML has not told of what was let go",
     [] {
       own_slot().charged[0] += kForged;
       own_slot().work[0].released += limit::wire::released_units(kForged);
     },
     [] {
       own_slot().work[0].released -= limit::wire::released_units(kForged);
       own_slot().charged[0] -= kForged;
     }},
};

// Functions that wait for room.
struct Way {
  const char* name;
  void (*call)(Program& program);
};
const Way kWays[] = {
    {"cuMemAlloc",
     [](Program& program) {
       CUdeviceptr address = 0;
       EXPECT_EQ(program.cuMemAlloc_v2(&address, kWanted), CUDA_ERROR_OUT_OF_MEMORY);
     }},
    {"cuMemAllocAsync",
     [](Program& program) {
       CUdeviceptr address = 0;
       EXPECT_EQ(program.cuMemAllocAsync(&address, kWanted, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
     }},
    {"cuModuleLoadData",
     [](Program& program) {
       CUmodule module = nullptr;
       program.cuModuleLoadData(&module, kSpin);
     }},
};

bool naps(pid_t thread) {
  long number = -1;
  std::ifstream("/proc/self/task/" + std::to_string(thread) + "/syscall") >> number;
  return number == SYS_nanosleep;
}

sigjmp_buf out_of_it;

// One thread calls `call` until a signal's handler takes it out of a wait.
void leave(Program& program, const std::function<void(Program&)>& call) {
  std::atomic<pid_t> id = 0;
  std::atomic<bool> has_left = false;
  std::thread thread([&] {
    EXPECT_EQ(program.cuCtxSetCurrent(program.context), CUDA_SUCCESS);
    if (sigsetjmp(out_of_it, 1) == 0) {
      id = static_cast<pid_t>(syscall(SYS_gettid));
      for (;;) call(program);
    }
    int state = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    EXPECT_EQ(state, PTHREAD_CANCEL_ENABLE);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    EXPECT_EQ(program.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    has_left = true;
  });
  struct sigaction action{};
  action.sa_handler = [](int) { siglongjmp(out_of_it, 1); };
  sigaction(SIGUSR1, &action, nullptr);
  EXPECT_TRUE(eventually([&] { return id != 0 && naps(id); })) << "it does not wait";
  pthread_kill(thread.native_handle(), SIGUSR1);
  EXPECT_TRUE(eventually([&] { return has_left.load(); }));
  thread.join();
}

// Every way to take memory still works, and all of it is available.
void expect_nothing_held(Program& program) {
  static std::atomic<bool> is_done;
  is_done = false;
  std::thread thread([&] {
    EXPECT_EQ(program.cuCtxSetCurrent(program.context), CUDA_SUCCESS);
    CUdeviceptr address = 0;
    EXPECT_EQ(program.cuMemAllocAsync(&address, 2 * kWanted, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemAlloc_v2(&address, 2 * kWanted), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemFree_v2(address), CUDA_SUCCESS);
    is_done = true;
  });
  EXPECT_TRUE(eventually([] { return is_done.load(); })) << "something is held for ever";
  is_done ? thread.join() : thread.detach();
}

TEST(LeftByLongjmp, AWaitForMemoryHoldsNothing) {
  const World world("l20");
  const Container container({part_of(world, kLimit)});
  for (const Reason& reason : kReasons) {
    for (const Way& way : kWays) {
      const bool waits_for_told = reason.begin == kReasons[1].begin;
      if (std::string(way.name) == "cuModuleLoadData" && !waits_for_told) continue;
      in_program([&] {
        SCOPED_TRACE(std::string(way.name) + ": " + reason.name);
        Program program;
        EXPECT_EQ(program.cuMemFree_v2(program.allocate(kMiB)), CUDA_SUCCESS);
        reason.begin();
        leave(program, way.call);
        reason.end();
        expect_nothing_held(program);
      });
    }
  }
}

// Nobody answers: memory waits for an arbiter until it is refused.
TEST(LeftByLongjmp, AWaitForTheArbiterHoldsNothing) {
  const World world("l20");
  const std::filesystem::path late = "/run/limits/left";
  std::filesystem::create_directories(late / "tenant");
  std::filesystem::remove("/run/tranche");
  std::filesystem::create_directory_symlink(late, "/run/tranche");
  in_program([&] {
    Program program;
    leave(program, kWays[0].call);
    // Now there is one.
    const Container container({part_of(world, kLimit)});
    const auto view = std::filesystem::read_symlink("/run/tranche");
    std::filesystem::remove(late / "tenant");
    std::filesystem::create_directory_symlink(*std::filesystem::directory_iterator(view),
                                              late / "tenant");
    std::filesystem::remove("/run/tranche");
    std::filesystem::create_directory_symlink(late, "/run/tranche");
    expect_nothing_held(program);
  });
  std::filesystem::remove("/run/tranche");
  std::filesystem::remove_all(late);
}

// The arbiter is the outer program's.
class Silence {
 public:
  Silence() { kill(getppid(), SIGSTOP); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  ~Silence() { kill(getppid(), SIGCONT); }
};

// A thread without an arbiter continues at a quarter: a best-effort one naps before each launch.
TEST(LeftByLongjmp, ANapWithoutAnArbiterHoldsNothing) {
  const World world("l20");
  auto limits = part_of(world, kLimit, 1);
  limits.priority = Priority::kBestEffort;
  const Container container({limits});
  constexpr std::uint64_t kLaunch = 100'000'000;  // ns; the nap has its greatest length
  const pid_t pid = sim::cuda::test::start([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    // The first one learns how long they take; the second one has no room, and finds no arbiter.
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(program.spin(spin, kLaunch), CUDA_SUCCESS);
      EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    }
    leave(program, [&](Program& mine) { EXPECT_EQ(mine.spin(spin, kLaunch), CUDA_SUCCESS); });
    EXPECT_EQ(program.spin(spin, kLaunch), CUDA_SUCCESS) << "nothing is held";
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
  });
  ASSERT_TRUE(eventually([] { return gate_test::seen().waiting == 1; }));
  const Silence silence;
  sim::cuda::test::expect_success(pid);
}

}  // namespace
}  // namespace tranche::test::leave_test
