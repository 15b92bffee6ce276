#include "host/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "base/fs.h"
#include "support/temp_dir.h"

namespace tranche::host::child_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Child shell(const std::string& script) {
  return {.program = "/bin/sh",
          .arguments = {"-c", script},
          .environment = {{"PATH", "/usr/bin:/bin"}}};
}

TEST(RunChild, GivesInputArgumentsAndEnvironmentAndTakesOutput) {
  auto child = shell("echo \"$WORD\"; cat; echo wrong >&2; exit 3");
  child.environment["WORD"] = "of the environment";
  child.input = "of the input\n";
  const auto end = run_child(child);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code, 3);
  EXPECT_EQ(end->output, "of the environment\nof the input\nwrong\n");
}

TEST(RunChild, HasNothingOfThisProcessButWhatItIsGiven) {
  const auto end = run_child({.program = "/usr/bin/env"});
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->output, "");
  // Descriptors: the three, and the one that lists them.
  const int extra = ::dup(STDERR_FILENO);
  const auto fds = run_child(shell("ls /proc/self/fd | wc -l"));
  ::close(extra);
  ASSERT_TRUE(fds.has_value());
  EXPECT_EQ(fds->output, "4\n");
}

TEST(RunChild, HasTheDefaultsOfSignalsThatThisProcessIgnores) {
  const auto before = ::signal(SIGUSR1, SIG_IGN);
  const auto end = run_child(shell("kill -USR1 $$; echo lives"));
  ::signal(SIGUSR1, before);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code, 128 + SIGUSR1);
}

TEST(RunChild, TellsTheSignalThatEndedIt) {
  const auto end = run_child(shell("kill -9 $$"));
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code, 128 + 9);
}

TEST(RunChild, KillsWhatDoesNotEndInTime) {
  auto child = shell("sleep 600");
  child.limit = std::chrono::milliseconds(50);
  const auto end = run_child(child);
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().code, Code::kTimeout);
  EXPECT_THAT(end.error().what, HasSubstr("did not end within 50 ms"));
}

TEST(RunChild, DoesNotWaitForWhatStaysInTheBackground) {
  // It holds the output open for as long as this test's process lives.
  const auto end = run_child(shell("sleep 600 & echo $!"));
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code, 0);
  ::kill(static_cast<pid_t>(std::stoi(end->output)), SIGKILL);
}

TEST(RunChild, GivesAnOutputOfExactly64KiB) {
  const auto end = run_child(shell("head -c 65536 /dev/zero | tr '\\0' x"));
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->output, std::string(std::size_t{64} << 10U, 'x'));
}

// The beginning of an answer could be taken for all of it.
TEST(RunChild, AnOutputThatIsTooLongIsAnError) {
  for (const char* size : {"65537", "1000000"}) {
    const auto end =
        run_child(shell(std::string("head -c ") + size + " /dev/zero | tr '\\0' x; exit 3"));
    ASSERT_FALSE(end.has_value()) << size;
    EXPECT_EQ(end.error().code, Code::kInvalidArgument);
    EXPECT_EQ(end.error().what, "/bin/sh wrote more than 64 KiB, and ended with exit code 3");
  }
}

TEST(RunChild, SaysThatThereIsNoSuchProgram) {
  const auto end = run_child({.program = "/nowhere/program"});
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().code, Code::kNotFound);
}

TEST(FindProgram, LooksOnThePathThenUnderTheDriversRoot) {
  const test::TempDir dir;
  const auto put = [&](const std::string& folder, unsigned mode) {
    std::filesystem::create_directories(dir.path() / folder);
    const auto file = dir.path() / folder / "tool";
    FsRoot().write_atomic(file, "#!/bin/sh\n", mode).value();
    return file;
  };
  const auto root = dir.path() / "driver";
  const auto path = (dir.path() / "a").string() + ":relative:" + (dir.path() / "b").string();
  const auto missing = find_program("tool", path, root);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().what, StartsWith("there is no tool on PATH or under "));

  const auto in_driver = put("driver/usr/bin", 0755);
  EXPECT_EQ(find_program("tool", path, root), in_driver);
  put("a", 0644);  // no program
  const auto in_path = put("b", 0755);
  EXPECT_EQ(find_program("tool", path, root), in_path);
}

}  // namespace
}  // namespace tranche::host::child_test
