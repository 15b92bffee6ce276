// Clients of one MPS server share its turns; the simulated control daemon says which server's they
// are.

#include <fcntl.h>
#include <spawn.h>

#include <filesystem>
#include <fstream>

#include "sim/cuda/support.h"

extern char** environ;

namespace tranche::sim::cuda::test::mps_test {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

// Passes `commands` to nvidia-cuda-mps-control, or starts it with `option`. Returns its exit code.
int control(const std::filesystem::path& folder, const char* option, const std::string& commands) {
  const std::string input = folder / "commands";
  std::ofstream(input) << commands;
  std::string program = TRANCHE_SIM_MPS;
  std::string argument = option;
  std::array<char*, 3> arguments = {program.data(), argument.empty() ? nullptr : argument.data(),
                                    nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, input.c_str(), O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int spawned =
      ::posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return spawned == 0 ? sim::test::wait_for(pid) : spawned;
}

// A control daemon of the test, which the environment names.
class Daemon {
 public:
  explicit Daemon(const std::string& commands) {
    const std::string pipe = folder_.path() / "pipe";
    const std::string log = folder_.path() / "log";
    ::setenv("CUDA_MPS_PIPE_DIRECTORY", pipe.c_str(), 1);
    ::setenv("CUDA_MPS_LOG_DIRECTORY", log.c_str(), 1);
    EXPECT_EQ(control(folder_.path(), "-d", ""), 0);
    EXPECT_EQ(control(folder_.path(), "", commands), 0);
  }
  ~Daemon() {
    EXPECT_EQ(control(folder_.path(), "", "quit -t 0"), 0);
    ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    ::unsetenv("CUDA_MPS_LOG_DIRECTORY");
  }

 private:
  tranche::test::TempDir folder_;
};

// Programs that start together: each has its percentage and 100 ms of work, which takes `ms`.
struct Client {
  const char* percentage;
  float ms;
};
void run_together(const std::array<Client, 2>& clients) {
  std::array<std::array<int, 2>, 2> pipes = {};
  for (auto& pipe : pipes) ASSERT_EQ(::pipe(pipe.data()), 0);
  const auto body = [&](std::size_t own) {
    ::setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", clients[own].percentage, 1);
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    char sign = 0;
    EXPECT_EQ(::write(pipes[own][1], "x", 1), 1);
    EXPECT_EQ(::read(pipes[1 - own][0], &sign, 1), 1);
    const CUevent begin = program.record();
    for (int i = 0; i < 100; ++i) program.spin(spin, kMs);
    const CUevent end = program.record();
    EXPECT_EQ(::write(pipes[own][1], "x", 1), 1);
    EXPECT_EQ(::read(pipes[1 - own][0], &sign, 1), 1);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_NEAR(program.between(begin, end), clients[own].ms, clients[own].ms / 100);
  };
  const pid_t a = start([&] { body(0); });
  const pid_t b = start([&] { body(1); });
  expect_success(a);
  expect_success(b);
  for (const auto& pipe : pipes) {
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
}

TEST(CudaMps, ContextsOfOneClientRunAtOnce) {
  const VirtualWorld world("l20");
  const Daemon daemon("set_default_active_thread_percentage 25");
  in_program([] {
    Program program;
    const CUfunction spin = program.function(kSpin, "spin");
    const CUevent begin = program.record();
    program.spin(spin, 10 * kMs);
    const CUevent end = program.record();
    CUcontext other = nullptr;
    ASSERT_EQ(program.cuCtxCreate_v2(&other, 0, 0), CUDA_SUCCESS);
    const CUfunction spin_there = program.function(kSpin, "spin");
    const CUevent begin_there = program.record();
    program.spin(spin_there, 10 * kMs);
    const CUevent end_there = program.record();
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(program.between(begin_there, end_there), 40);
    ASSERT_EQ(program.cuCtxSetCurrent(program.context), CUDA_SUCCESS);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(program.between(begin, end), 40);
  });
}

// Two groups would take turns, and each would take longer than by its percentage.
TEST(CudaMps, TwoProcessesOfOneServerRunAtOnceEachAtItsPercentage) {
  const VirtualWorld world("l20");
  const Daemon daemon("");
  run_together({{{"25", 400}, {"50", 200}}});
}

TEST(CudaMps, AClientDoesNotRaiseTheServersPercentage) {
  const VirtualWorld world("l20");
  const Daemon daemon("set_default_active_thread_percentage 20");
  run_together({{{"10", 1000}, {"100", 500}}});
}

TEST(CudaMps, ThoseWhoWantMoreThanThereIsShareIt) {
  const VirtualWorld world("l20");
  const Daemon daemon("");
  // 60 and 90 of 150: 40 and 60 percent, and all that the first may have once the second is done.
  run_together({{{"60", 222.2F}, {"90", 166.7F}}});
}

}  // namespace
}  // namespace tranche::sim::cuda::test::mps_test
