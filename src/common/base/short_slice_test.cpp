#include "base/short_slice.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <thread>

namespace tranche::short_slice_test {
namespace {

// As sched_getattr(2) writes it, in 64-bit words: `runtime` is the fourth.
std::uint64_t slice_of_this_thread() {
  std::uint64_t words[6] = {};
  EXPECT_EQ(syscall(SYS_sched_getattr, 0, words, sizeof(words), 0), 0);
  return words[3];
}

bool kernel_has_slices() {
  utsname name{};
  int major = 0;
  int minor = 0;
  return uname(&name) == 0 && std::sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
         (major > 6 || (major == 6 && minor >= 12));
}

TEST(ShortSlice, IsTheThreadsOwn) {
  if (!kernel_has_slices()) GTEST_SKIP() << "Linux 6.12 tells and takes a task's slice";
  const auto before = slice_of_this_thread();
  std::uint64_t after = 0;
  std::thread([&] {
    ask_for_short_slices();
    after = slice_of_this_thread();
  }).join();
  EXPECT_EQ(after, static_cast<std::uint64_t>(kShortSlice.count()));
  EXPECT_EQ(slice_of_this_thread(), before);
}

}  // namespace
}  // namespace tranche::short_slice_test
