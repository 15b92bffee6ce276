#include "base/fs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "support/synced.h"
#include "support/temp_dir.h"

namespace tranche::fs_test {
namespace {

using test::folder_error;
using test::synced;

using Names = std::vector<std::string>;

TEST(FsRoot, ASyncedFileHasItsNameOnTheDiskToo) {
  const test::TempDir dir;
  const FsRoot fs(dir.path());
  synced.clear();
  ASSERT_TRUE(fs.write_atomic("/file", "one", 0600, FsRoot::Sync::kNow));
  EXPECT_EQ(synced, (Names{"file", "folder"}));
  ASSERT_TRUE(fs.write_atomic("/file", "two"));
  EXPECT_EQ(synced.size(), 2U) << "nobody asked";
}

TEST(FsRoot, ANameThatMayBeLostIsAnError) {
  const test::TempDir dir;
  const FsRoot fs(dir.path());
  folder_error = EIO;
  EXPECT_EQ(fs.write_atomic("/file", "one", 0600, FsRoot::Sync::kNow).error().code, Code::kIo);
  EXPECT_EQ(fs.read("/file").value(), "one");
  folder_error = EINVAL;
  EXPECT_TRUE(fs.write_atomic("/file", "two", 0600, FsRoot::Sync::kNow))
      << "a file system without such a sync";
}

TEST(FsRoot, WritesAtomicallyAndReadsBack) {
  const test::TempDir dir;
  const FsRoot fs(dir.path());
  ASSERT_TRUE(fs.make_directories("/a/b"));
  ASSERT_TRUE(fs.write_atomic("/a/b/file", "one"));
  ASSERT_TRUE(fs.write_atomic("/a/b/file", "two", 0600, FsRoot::Sync::kNow));
  EXPECT_EQ(fs.read("/a/b/file").value(), "two");
  EXPECT_EQ(fs.list("/a/b").value(), std::vector<std::string>{"file"});
  struct stat status{};
  ASSERT_EQ(::stat((dir.path() / "a/b/file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(FsRoot, FailureIsNotEmpty) {
  const test::TempDir dir;
  const FsRoot fs(dir.path());
  EXPECT_EQ(fs.read("/none").error().code, Code::kNotFound);
  EXPECT_EQ(fs.list("/none").error().code, Code::kNotFound);
  EXPECT_FALSE(fs.write_atomic("/none/file", "x"));
  EXPECT_TRUE(fs.remove("/none"));
}

TEST(FsRoot, RefusesFilesThatAreTooLong) {
  const test::TempDir dir;
  const FsRoot fs(dir.path());
  ASSERT_TRUE(fs.write_atomic("/big", std::string(100, 'x')));
  EXPECT_EQ(fs.read("/big", 99).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(fs.read("/big", 100));
}

}  // namespace
}  // namespace tranche::fs_test
