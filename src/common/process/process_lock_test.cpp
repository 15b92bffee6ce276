#include "process/process_lock.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace tranche::process::process_lock_test {
namespace {

TEST(ProcessLock, OneAtATime) {
  const test::TempDir dir;
  const auto file = dir.path() / "agent.lock";
  auto first = ProcessLock::take(file, [] { return false; });
  ASSERT_TRUE(first);
  ASSERT_NE(*first, nullptr);

  int waits = 0;
  const auto refused = ProcessLock::take(file, [&] { return ++waits < 3; });
  ASSERT_TRUE(refused);
  EXPECT_EQ(*refused, nullptr);
  EXPECT_EQ(waits, 3);

  const auto second = ProcessLock::take(file, [&] {
    first->reset();
    return true;
  });
  ASSERT_TRUE(second);
  EXPECT_NE(*second, nullptr);
}

TEST(ProcessLock, AFileThatCannotBeMadeIsAnError) {
  const test::TempDir dir;
  EXPECT_FALSE(ProcessLock::take(dir.path() / "none" / "agent.lock", [] { return true; }));
}

TEST(ProcessLock, AFileThatItsHolderRemovedDoesNotCount) {
  const test::TempDir dir;
  const auto file = dir.path() / "agent.lock";
  auto first = ProcessLock::take(file, [] { return false; });
  ASSERT_TRUE(first);
  auto waiting = ProcessLock::take(file, [&] {
    std::filesystem::remove(file);
    first->reset();
    return true;
  });
  ASSERT_TRUE(waiting);
  ASSERT_NE(*waiting, nullptr);
  const auto third = ProcessLock::take(file, [] { return false; });
  ASSERT_TRUE(third);
  EXPECT_EQ(*third, nullptr) << "both lock the file of that name";
}

// As `tranche cleanup` does, while the next agent waits.
TEST(ProcessLock, AFolderThatItsHolderRemovedIsMadeAnew) {
  const test::TempDir dir;
  const auto folder = dir.path() / "state";
  std::filesystem::create_directory(folder);
  auto first = ProcessLock::take(folder / "agent.lock", [] { return false; });
  ASSERT_TRUE(first);
  auto waiting = ProcessLock::take(folder / "agent.lock", [&] {
    std::filesystem::remove_all(folder);
    first->reset();
    return true;
  });
  ASSERT_TRUE(waiting) << waiting.error().what;
  EXPECT_TRUE(ProcessLock::is_held(folder / "agent.lock"));
}

TEST(ProcessLock, AnybodyCanAskWhetherItIsHeld) {
  const test::TempDir dir;
  const auto file = dir.path() / "x.lock";
  EXPECT_FALSE(ProcessLock::is_held(file)) << "no file";
  auto lock = ProcessLock::take(file, [] { return false; });
  ASSERT_TRUE(lock);
  EXPECT_TRUE(ProcessLock::is_held(file));
  lock->reset();
  EXPECT_FALSE(ProcessLock::is_held(file)) << "a file alone";
}

}  // namespace
}  // namespace tranche::process::process_lock_test
