#include "agent/node_lock.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace tranche::agent {
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

}  // namespace
}  // namespace tranche::agent
