#include "mps/open_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"
#include "support/temp_dir.h"

namespace tranche::mps::open_file_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OpenFile, ListsTheResourcesAndExistsOnlyForSome) {
  const test::TempDir dir;
  const auto root = dir.path();
  EXPECT_THAT(read_open(root).value(), IsEmpty());
  ASSERT_TRUE(write_open(root, {}));
  EXPECT_FALSE(FsRoot().exists(open_file(root)));
  ASSERT_TRUE(write_open(root, {"nvidia.com/b", "nvidia.com/a"}));
  EXPECT_THAT(read_open(root).value(), ElementsAre("nvidia.com/a", "nvidia.com/b"));
  ASSERT_TRUE(write_open(root, {}));
  EXPECT_FALSE(FsRoot().exists(open_file(root)));
}

TEST(OpenFile, WithoutAFolderNothingIsOpen) {
  const test::TempDir dir;
  const auto root = dir.path() / "mps";
  EXPECT_THAT(read_open(root).value(), IsEmpty());
  EXPECT_TRUE(write_open(root, {})) << "the agent of a node without MPS";
  EXPECT_FALSE(write_open(root, {"nvidia.com/gpu"}));
}

}  // namespace
}  // namespace tranche::mps::open_file_test
