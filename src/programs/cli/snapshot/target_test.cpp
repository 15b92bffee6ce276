#include "cli/snapshot/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "support/temp_dir.h"

namespace tranche::cli::snapshot_target_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

unsigned mode_of(const fs::path& file) {
  struct stat info{};
  return ::stat(file.c_str(), &info) == 0 ? info.st_mode & 0777U : 0U;
}

TEST(SnapshotTarget, AFileIsReplacedForItsOwnerAlone) {
  const test::TempDir dir;
  const auto path = dir.path() / "s.json";
  std::ofstream(path) << "before";
  fs::permissions(path, fs::perms(0644));
  const auto file = file_to_write(path.string());
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_TRUE(write_private(*file, "after"));
  EXPECT_EQ(text_of(path), "after");
  EXPECT_EQ(mode_of(path), 0600U);
}

TEST(SnapshotTarget, ALinkStaysALink) {
  const test::TempDir dir;
  std::ofstream(dir.path() / "real.json") << "before";
  fs::create_symlink("real.json", dir.path() / "link.json");
  const auto file = file_to_write((dir.path() / "link.json").string());
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_TRUE(write_private(*file, "after"));
  EXPECT_TRUE(fs::is_symlink(dir.path() / "link.json"));
  EXPECT_EQ(text_of(dir.path() / "real.json"), "after");
}

TEST(SnapshotTarget, WhatIsNoFileIsNotReplaced) {
  const test::TempDir dir;
  fs::create_directory(dir.path() / "folder");
  ASSERT_EQ(::mkfifo((dir.path() / "pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/null", dir.path() / "null");
  const struct {
    const char* name;
    fs::path path;
    const char* says;
  } cases[] = {
      {"folder", dir.path() / "folder", "is a folder; name a file in it"},
      {"folder with a slash", dir.path() / "new/", "is a folder"},
      {"device", "/dev/null", "is no file; leave out --output"},
      {"link to a device", dir.path() / "null", "is no file"},
      {"pipe", dir.path() / "pipe", "is no file"},
      {"no folder", dir.path() / "none" / "s.json", "is in no folder that exists; make "},
      {"file for a folder", "/etc/passwd/s.json", "is in no folder that exists"},
  };
  for (const auto& one : cases) {
    const auto file = file_to_write(one.path.string());
    ASSERT_FALSE(file) << one.name;
    EXPECT_EQ(file.error().code, Code::kInvalidArgument) << one.name;
    EXPECT_THAT(file.error().message(), HasSubstr(one.says)) << one.name;
  }
}

TEST(SnapshotTarget, AFullDiskIsAnError) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  const auto small = write_stream(full, "x");
  std::fclose(full);
  ASSERT_FALSE(small) << "even where it fits into the buffer";
  EXPECT_THAT(small.error().message(), HasSubstr("No space left on device; what was written"));
}

}  // namespace
}  // namespace tranche::cli::snapshot_target_test
