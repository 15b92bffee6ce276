// A tenant that works against its limits: what it writes, unsets, kills and traces gains it nothing
// that the next comparison with NVML does not take away, and nothing of other tenants.

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/prctl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "limits/limited/container.h"

namespace tranche::test::tamper_test {
namespace {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using namespace std::chrono_literals;
using sim::cuda::test::in_program;
using sim::cuda::test::kSpin;
using sim::cuda::test::Program;
using sim::test::World;

constexpr std::uint64_t kMs = 1'000'000;

// A mapping of this process, as it finds it in /proc/self/maps.
struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::string rights;
  bool is_there() const { return begin != 0; }
};
Mapping mapping_of(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) == std::string::npos) continue;
    Mapping mapping;
    char dash = 0;
    std::istringstream words(line);
    words >> std::hex >> mapping.begin >> dash >> mapping.end >> mapping.rights;
    return mapping;
  }
  return {};
}

Mapping policy_page() { return mapping_of("memfd:tranche-policy"); }
Mapping usage_file() { return mapping_of("memfd:tranche-usage"); }

bool allocates(Program& program, std::uint64_t bytes) {
  CUdeviceptr address = 0;
  return program.cuMemAlloc_v2(&address, bytes) == CUDA_SUCCESS;
}

TEST(Tampering, ThePolicyPageCannotBeWritten) {
  const World world("l20");
  const Container container({part_of(world, 100 * kMiB)});
  in_program([] {
    Program program;
    EXPECT_TRUE(allocates(program, 60 * kMiB));
    const Mapping page = policy_page();
    ASSERT_TRUE(page.is_there());
    EXPECT_EQ(page.rights, "r--s");
    EXPECT_NE(mprotect(reinterpret_cast<void*>(page.begin), page.end - page.begin,
                       PROT_READ | PROT_WRITE),
              0);
    // By a name of the mapping, as a file.
    char link[64];
    std::snprintf(link, sizeof(link), "/proc/self/map_files/%lx-%lx", page.begin, page.end);
    const int file = open(link, O_RDWR);
    if (file >= 0) {
      EXPECT_EQ(mmap(nullptr, page.end - page.begin, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0),
                MAP_FAILED);
      const std::uint64_t much = ~std::uint64_t{0};
      EXPECT_EQ(pwrite(file, &much, sizeof(much), 64), -1);
      EXPECT_NE(ftruncate(file, 0), 0);
      close(file);
    }
    // Through its own memory: a write that is forced there reaches no page of a shared mapping.
    const int memory = open("/proc/self/mem", O_RDWR);
    ASSERT_GE(memory, 0);
    const std::uint64_t much = ~std::uint64_t{0};
    EXPECT_EQ(pwrite(memory, &much, sizeof(much), static_cast<off_t>(page.begin) + 80), -1);
    close(memory);
    EXPECT_FALSE(allocates(program, 60 * kMiB));
    EXPECT_TRUE(allocates(program, 30 * kMiB));
  });
}

// Until NVML is asked, within a second: tests/limits/reconcile_test.cpp.
TEST(Tampering, WhatItWritesInItsUsageIsItsTenantsAlone) {
  const World world("l20");
  auto one = part_of(world, 100 * kMiB);
  auto two = part_of(world, 100 * kMiB);
  one.id = "one";
  two.id = "two";
  const Container neighbour({two});
  auto* is_ready = static_cast<std::atomic<bool>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t honest = sim::cuda::test::start([&] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    EXPECT_TRUE(allocates(program, 60 * kMiB));
    *is_ready = true;
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(program.spin(spin, kMs), CUDA_SUCCESS);
      EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
      EXPECT_FALSE(allocates(program, 60 * kMiB)) << "its own limit stands";
    }
    EXPECT_TRUE(allocates(program, 20 * kMiB));
  });
  // /run/tranche shows its container until it has registered.
  EXPECT_TRUE(eventually([&] { return is_ready->load(); }));
  {
    const Container container({one});
    in_program([] {
      Program program;
      EXPECT_TRUE(allocates(program, kMiB));
      const Mapping usage = usage_file();
      ASSERT_TRUE(usage.is_there());
      for (int round = 0; round < 20; ++round) {
        std::memset(reinterpret_cast<void*>(usage.begin), round % 2 == 0 ? 0xFF : 0,
                    usage.end - usage.begin);
        std::this_thread::sleep_for(2ms);
      }
      std::memset(reinterpret_cast<void*>(usage.begin), 0, usage.end - usage.begin);
    });
  }
  sim::cuda::test::expect_success(honest);
  munmap(is_ready, 4096);
}

TEST(Tampering, VariablesThatAreUnsetChangeNothing) {
  const World world("l20");
  const Container container({part_of(world, 100 * kMiB)});
  in_program([] {
    for (const char* name : {"LD_PRELOAD", "TRANCHE_LIMITED", "LD_AUDIT"}) unsetenv(name);
    for (const char* name : {"TRANCHE_LIMITS", "TRANCHE_DISABLE", "TRANCHE_ENFORCEMENT"}) {
      setenv(name, "off", 1);
    }
    Program program;
    EXPECT_FALSE(allocates(program, 200 * kMiB));
    EXPECT_TRUE(allocates(program, 60 * kMiB));
  });
}

// Whether all threads of this process but the caller's wait in the kernel.
bool others_rest() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    if (entry.path().filename() == std::to_string(gettid())) continue;
    std::string stat;
    std::getline(std::ifstream(entry.path() / "stat"), stat);
    const auto end_of_name = stat.rfind(')');
    if (end_of_name == std::string::npos || stat.compare(end_of_name, 3, ") S") != 0) return false;
  }
  return true;
}

// The limiter's thread reports what has ended. Without it waiting threads do.
TEST(Tampering, StoppingTheLimitersThreadDoesNotOpenTheGate) {
  const World world("l20");
  const Container container({part_of(world, kGiB, 100)});
  auto* launched = static_cast<std::atomic<int>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const auto begin = std::chrono::steady_clock::now();
  const pid_t pid = sim::cuda::test::start([&] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    EXPECT_EQ(program.spin(spin, kMs), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_TRUE(eventually(others_rest)) << "none is stopped with a lock in hand";
    // A separate tracer, because a process cannot stop a single thread of its own otherwise.
    const pid_t traced = getpid();
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t tracer = fork();
    if (tracer == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // what it traces cannot be reaped while it lives
      int stopped = 0;
      const auto folder = "/proc/" + std::to_string(traced) + "/task";
      for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const pid_t thread = std::atoi(entry.path().filename().c_str());
        if (thread == traced) continue;
        if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) continue;
        stopped += ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0 ? 1 : 0;
      }
      const char answer = stopped > 0 ? 'y' : 'n';
      if (write(ready[1], &answer, 1) == 1) pause();
      _exit(0);
    }
    char answer = 0;
    ASSERT_EQ(read(ready[0], &answer, 1), 1);
    if (answer == 'y') {
      for (*launched = 1; *launched < 100000; ++*launched) {
        EXPECT_EQ(program.spin(spin, kMs), CUDA_SUCCESS);
      }
    } else {
      *launched = -1;
    }
    kill(tracer, SIGKILL);
    waitpid(tracer, nullptr, 0);
  });
  // Some pass: what it had saved.
  EXPECT_TRUE(eventually([&] { return *launched < 0 || *launched > 1; }));
  if (*launched > 0) {
    std::this_thread::sleep_for(500ms);  // while it tries
    const int count = *launched;
    const auto tenth = std::chrono::duration_cast<std::chrono::milliseconds>(
                           std::chrono::steady_clock::now() - begin) /
                       10;
    // In addition to what it had saved. Without the gate it would be all of the time.
    EXPECT_LE(count, tenth.count() + 100) << "launches of 1 ms each";
  }
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  if (*launched < 0) GTEST_SKIP() << "no right to trace";
  munmap(launched, 4096);
}

// Its own debugger can make a process do anything except write what it has no right to.
TEST(Tampering, TracingItselfDoesNotRaiseItsLimit) {
  const World world("l20");
  const Container container({part_of(world, 100 * kMiB)});
  in_program([] {
    Program program;
    EXPECT_TRUE(allocates(program, 60 * kMiB));
    const Mapping page = policy_page();
    ASSERT_TRUE(page.is_there());
    const pid_t traced = getpid();
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    const pid_t tracer = fork();
    if (tracer == 0) {
      if (ptrace(PTRACE_ATTACH, traced, nullptr, nullptr) != 0) _exit(2);
      waitpid(traced, nullptr, __WALL);
      errno = 0;
      const long done = ptrace(PTRACE_POKEDATA, traced, page.begin + 80, ~0L);
      const bool refused = done == -1 && errno != 0;
      ptrace(PTRACE_DETACH, traced, nullptr, nullptr);
      _exit(refused ? 0 : 1);
    }
    int status = 0;
    while (waitpid(tracer, &status, 0) != tracer) {
    }
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_NE(WEXITSTATUS(status), 1) << "a word of the page was written";
    EXPECT_FALSE(allocates(program, 60 * kMiB));
  });
}

}  // namespace
}  // namespace tranche::test::tamper_test
