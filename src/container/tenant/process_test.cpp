#include "tenant/process.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace tranche::tenant::process_test {
namespace {

TEST(Process, KnowsThePeerOfASocketAndWhenItEnds) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  const auto peer = Process::peer_of(ends[0]);
  ASSERT_TRUE(peer) << peer.error().message();
  EXPECT_EQ(peer->id().pid, getpid());
  EXPECT_GT(peer->id().start_time, 0U);
  EXPECT_FALSE(peer->has_ended());
  close(ends[0]);
  close(ends[1]);
}

TEST(Process, ANameWithBracketsAndSpacesIsNoObstacle) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_NAME, "a) R 1 (x");
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  const auto self = Process::open({getpid(), 0});
  EXPECT_FALSE(self) << "start time 0 is nobody's";
  const auto wrong = Process::open({child, 1});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::kNotFound) << wrong.error().message();
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, &status, 0), child);
}

TEST(Process, IsFoundAgainByItsIdUntilItEnds) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  const auto self = Process::peer_of(ends[0]);
  ASSERT_TRUE(self);
  EXPECT_TRUE(Process::open(self->id()));
  EXPECT_FALSE(Process::open({self->id().pid, self->id().start_time + 1}));
  close(ends[0]);
  close(ends[1]);
}

TEST(Process, AShortageOfDescriptorsIsNotTheEndOfAProcess) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  const auto self = Process::peer_of(ends[0]);
  ASSERT_TRUE(self);
  // UBSan needs descriptors when it first meets the types in here.
  static_cast<void>(errno_error(EMFILE, "open"));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(ends[0]);
  close(next);
  for (const rlim_t more : {0U, 1U}) {  // of the pidfd and the file of its start time
    const rlimit few{static_cast<rlim_t>(next) + more, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    const Result<Process> found[] = {Process::peer_of(ends[0]), Process::find(getpid()),
                                     Process::open(self->id())};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (const auto& process : found) {
      ASSERT_FALSE(process);
      EXPECT_EQ(process.error().code, Code::kIo) << process.error().message();
    }
  }
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace tranche::tenant::process_test
