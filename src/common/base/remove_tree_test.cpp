#include "base/remove_tree.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "support/temp_dir.h"

namespace tranche::remove_tree_test {
namespace {

TEST(RemoveTree, RemovesAFolderAFileAndWhatIsNotThere) {
  const test::TempDir dir;
  std::filesystem::create_directories(dir.path() / "a/b");
  std::ofstream(dir.path() / "a/b/file") << "x";
  std::ofstream(dir.path() / "file") << "x";
  EXPECT_TRUE(remove_tree(dir.path() / "a"));
  EXPECT_TRUE(remove_tree(dir.path() / "file"));
  EXPECT_TRUE(remove_tree(dir.path() / "none"));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

// As the arbiter, which removes its socket of a tenant, next to the agent, which removes the
// folder.
TEST(RemoveTree, SomebodyElseMayRemovePartsMeanwhile) {
  const test::TempDir dir;
  for (int round = 0; round < 200; ++round) {
    const auto folder = dir.path() / "tenant";
    std::filesystem::create_directories(folder);
    for (int i = 0; i < 20; ++i) std::ofstream(folder / std::to_string(i)) << "x";
    std::jthread other([&] {
      for (int i = 0; i < 20; ++i) {
        std::error_code ignored;
        std::filesystem::remove(folder / std::to_string(i), ignored);
      }
    });
    const auto removed = remove_tree(folder);
    ASSERT_TRUE(removed) << removed.error().message();
    EXPECT_FALSE(std::filesystem::exists(folder));
  }
}

TEST(RemoveTree, WhatCannotBeRemovedIsNamed) {
  const auto refused = remove_tree("/proc/self/status");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what.substr(0, 25), "remove /proc/self/status:");
}

}  // namespace
}  // namespace tranche::remove_tree_test
