#include "agent/node_lock.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace tranche::agent::node_lock_test {
namespace {

TEST(NodeLock, OneAtATime) {
  const test::TempDir dir;
  const auto file = dir.path() / "agent.lock";
  auto first = NodeLock::take(file, [] { return false; });
  ASSERT_TRUE(first);
  ASSERT_NE(*first, nullptr);

  int waits = 0;
  const auto refused = NodeLock::take(file, [&] { return ++waits < 3; });
  ASSERT_TRUE(refused);
  EXPECT_EQ(*refused, nullptr);
  EXPECT_EQ(waits, 3);

  const auto second = NodeLock::take(file, [&] {
    first->reset();
    return true;
  });
  ASSERT_TRUE(second);
  EXPECT_NE(*second, nullptr);
}

TEST(NodeLock, AFileThatCannotBeMadeIsAnError) {
  const test::TempDir dir;
  EXPECT_FALSE(NodeLock::take(dir.path() / "none" / "agent.lock", [] { return true; }));
}

TEST(NodeLock, AFileThatItsHolderRemovedDoesNotCount) {
  const test::TempDir dir;
  const auto file = dir.path() / "agent.lock";
  auto first = NodeLock::take(file, [] { return false; });
  ASSERT_TRUE(first);
  auto waiting = NodeLock::take(file, [&] {
    std::filesystem::remove(file);
    first->reset();
    return true;
  });
  ASSERT_TRUE(waiting);
  ASSERT_NE(*waiting, nullptr);
  const auto third = NodeLock::take(file, [] { return false; });
  ASSERT_TRUE(third);
  EXPECT_EQ(*third, nullptr) << "both lock the file of that name";
}

TEST(NodeLock, AnybodyCanAskWhetherItIsHeld) {
  const test::TempDir dir;
  const auto file = dir.path() / "x.lock";
  EXPECT_FALSE(NodeLock::is_held(file)) << "no file";
  auto lock = NodeLock::take(file, [] { return false; });
  ASSERT_TRUE(lock);
  EXPECT_TRUE(NodeLock::is_held(file));
  lock->reset();
  EXPECT_FALSE(NodeLock::is_held(file)) << "a file alone";
}

}  // namespace
}  // namespace tranche::agent::node_lock_test
