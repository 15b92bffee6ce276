// A child that no signal ends, as one that waits in a driver. Here it is a process of which a
// thread is traced: it is not gone before the tracer has looked at that thread's end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/fs.h"
#include "host/child.h"
#include "support/temp_dir.h"
#include "support/wait.h"

namespace tranche::host::hanging_child_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kFolder = "TRANCHE_TEST_FOLDER";

// What the test below runs. Disabled, for it hangs.
TEST(HangingChild, DISABLED_Hangs) {
  const char* folder = std::getenv(kFolder);
  ASSERT_NE(folder, nullptr);
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  std::atomic<pid_t> thread = 0;
  std::thread([&] {
    thread = static_cast<pid_t>(::syscall(SYS_gettid));
    while (true) ::pause();
  }).detach();
  while (thread == 0) std::this_thread::yield();
  const pid_t tracer = ::fork();
  if (tracer == 0) {
    ::setsid();  // the child's process group is killed
    if (::ptrace(PTRACE_SEIZE, thread.load(), nullptr, nullptr) != 0) ::_exit(2);
    (void)FsRoot(folder).write_atomic("/tracer", std::to_string(::getpid()), 0644);
    ::alarm(60);
    while (true) ::pause();
  }
  while (true) ::pause();
}

// Until it is traced it can be killed: the limit grows until there is time enough.
Result<ChildEnd> run_hanging(const test::TempDir& dir) {
  Child child{.program = "/proc/self/exe",
              .arguments = {"--gtest_filter=HangingChild.DISABLED_Hangs",
                            "--gtest_also_run_disabled_tests"},
              .environment = {{kFolder, dir.path().string()}},
              .limit = std::chrono::milliseconds(250)};
  while (true) {
    auto end = run_child(child);
    if (end || child.limit > std::chrono::seconds(30)) return end;
    if (end.error().what.contains("nor when it was killed")) return end;
    child.limit *= 2;
  }
}

TEST(HangingChild, IsNotWaitedForForEverAndReapedWhenItHasEnded) {
  const test::TempDir dir;
  const auto end = run_hanging(dir);
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().code, Code::kTimeout);
  EXPECT_THAT(end.error().what, HasSubstr("ms, nor when it was killed"));
  EXPECT_THAT(end.error().hint, AllOf(HasSubstr("hangs in the kernel"), HasSubstr("reboot")));
  const auto pid = std::atoi(end.error().hint.substr(std::string_view("process ").size()).c_str());
  ASSERT_GT(pid, 0);
  EXPECT_EQ(::kill(pid, 0), 0) << "it is still there";

  const auto tracer = FsRoot(dir.path()).read("/tracer");
  ASSERT_TRUE(tracer.has_value());
  ::kill(std::atoi(tracer->c_str()), SIGKILL);
  EXPECT_TRUE(test::eventually([&] { return ::kill(pid, 0) != 0; }));
}

}  // namespace
}  // namespace tranche::host::hanging_child_test
