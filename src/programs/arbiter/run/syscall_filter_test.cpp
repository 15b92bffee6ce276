#include "arbiter/run/syscall_filter.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

namespace tranche::arbiter::syscall_filter_test {
namespace {

// The errno of `call`, 0 if it succeeds, in a child that has the filter; -1: the child did not get
// that far.
int in_a_filtered_child(const std::function<long()>& call) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!refuse_unused_syscalls()) ::_exit(255);
    errno = 0;
    ::_exit(call() < 0 ? errno : 0);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) && WEXITSTATUS(status) != 255 ? WEXITSTATUS(status) : -1;
}

struct Case {
  std::string name;
  std::function<long()> call;
};

TEST(SyscallFilterTest, WhatTheArbiterHasNoUseForIsRefused) {
  const pid_t self = ::getpid();  // of the test: another process to the child
  const Case cases[] = {
      {"kill", [&] { return ::kill(self, 0); }},
      {"kill to the own group", [] { return ::kill(0, 0); }},
      {"tgkill", [&] { return ::syscall(SYS_tgkill, self, self, 0); }},
      {"tkill", [&] { return ::syscall(SYS_tkill, self, 0); }},
      {"pidfd_send_signal",
       [&] {
         const long fd = ::syscall(SYS_pidfd_open, self, 0);
         return ::syscall(SYS_pidfd_send_signal, fd, 0, nullptr, 0);
       }},
      {"pidfd_getfd",
       [&] {
         const long fd = ::syscall(SYS_pidfd_open, self, 0);
         return ::syscall(SYS_pidfd_getfd, fd, 0, 0);
       }},
      {"ptrace", [] { return ::syscall(SYS_ptrace, 0, 0, nullptr, nullptr); }},
      {"process_vm_readv",
       [&] { return ::syscall(SYS_process_vm_readv, self, nullptr, 0, nullptr, 0, 0); }},
      {"process_vm_writev",
       [&] { return ::syscall(SYS_process_vm_writev, self, nullptr, 0, nullptr, 0, 0); }},
      {"execve", [] { return ::execl("/bin/true", "true", nullptr); }},
      {"mount", [] { return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr); }},
      {"umount", [] { return ::umount2("/nowhere", 0); }},
      {"unshare", [] { return ::unshare(CLONE_FS); }},
      {"setns", [] { return ::setns(-1, 0); }},
      {"io_uring", [] { return ::syscall(SYS_io_uring_setup, 0, nullptr); }},
      {"bpf", [] { return ::syscall(SYS_bpf, 0, nullptr, 0); }},
      {"limits of another", [&] { return ::prlimit(self, RLIMIT_CORE, nullptr, nullptr); }},
      {"processors of another",
       [&] {
         cpu_set_t set;
         ::sched_getaffinity(0, sizeof(set), &set);
         return ::sched_setaffinity(self, sizeof(set), &set);
       }},
#ifdef __x86_64__
      {"a call by the numbers of x32", [] { return ::syscall(0x40000000 | SYS_getpid); }},
#endif
  };
  for (const auto& [name, call] : cases) {
    SCOPED_TRACE(name);
    EXPECT_EQ(in_a_filtered_child(call), EPERM);
  }
}

TEST(SyscallFilterTest, WhatItDoesIsLetThrough) {
  const pid_t self = ::getpid();
  const Case cases[] = {
      {"a pidfd", [&] { return ::syscall(SYS_pidfd_open, self, 0); }},
      {"sealed memory", [] { return ::memfd_create("m", MFD_ALLOW_SEALING); }},
      {"its own limits",
       [] {
         rlimit files{};
         ::getrlimit(RLIMIT_NOFILE, &files);
         return ::setrlimit(RLIMIT_NOFILE, &files);
       }},
      {"a signal to a thread of its own",
       [] { return ::syscall(SYS_tgkill, ::getpid(), ::gettid(), 0); }},
      {"a thread",
       [] {
         std::thread([] {}).join();
         return 0L;
       }},
      {"a child", [] { return static_cast<long>(::fork()); }},
  };
  for (const auto& [name, call] : cases) {
    SCOPED_TRACE(name);
    EXPECT_EQ(in_a_filtered_child(call), 0);
  }
}

TEST(SyscallFilterTest, ThreadsThatAreThereAlreadyHaveItToo) {
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    std::atomic<bool> filtered = false;
    std::atomic<int> found = 0;
    std::thread other([&] {
      filtered.wait(false);
      found = ::kill(self, 0) < 0 ? errno : 0;
    });
    const bool done = refuse_unused_syscalls().has_value();
    filtered = true;
    filtered.notify_all();
    other.join();
    ::_exit(done && found == EPERM ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace tranche::arbiter::syscall_filter_test
