#include "hook/image_preload.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>

#include "support/temp_dir.h"

namespace tranche::hook::image_preload_test {
namespace {

namespace fs = std::filesystem;

class ImagePreloadTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(root() / "etc"); }

  fs::path root() const { return dir.path() / "rootfs"; }
  fs::path file() const { return root() / "etc/ld.so.preload"; }
  static void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string found() const {
    const auto names = find_image_preload(root());
    EXPECT_TRUE(names) << names.error().message();
    return names.value_or("(error)");
  }

  test::TempDir dir;
};

TEST_F(ImagePreloadTest, NoneAnEmptyOneAndCommentsAreNoMatter) {
  EXPECT_EQ(found(), "");
  write(file(), "");
  EXPECT_EQ(found(), "") << "as the runtime makes it, to mount over";
  write(file(), "# nothing here\n\n   \n");
  EXPECT_EQ(found(), "");
  fs::remove_all(root() / "etc");
  EXPECT_EQ(found(), "");
}

TEST_F(ImagePreloadTest, NamesAreReadAsTheLoaderReadsThem) {
  write(file(), "/opt/libfoo.so:libbar.so # libbaz.so\n\tlibqux.so\n");
  EXPECT_EQ(found(), "/opt/libfoo.so libbar.so libqux.so");
  write(file(), "/usr/local/tranche/libtranche-limit.so libbar.so");
  EXPECT_EQ(found(), "libbar.so") << "ours is nobody's loss";
}

TEST_F(ImagePreloadTest, LinksStayWithinTheImage) {
  write(dir.path() / "host/secret", "of the host");
  write(root() / "opt/preload", "libfoo.so");
  fs::create_symlink("/opt/preload", file());
  EXPECT_EQ(found(), "libfoo.so") << "an absolute one begins at the image's root";
  fs::remove(file());
  fs::create_symlink("../../../../../../opt/preload", file());
  EXPECT_EQ(found(), "libfoo.so") << "there is nothing above it";
  fs::remove(file());
  fs::create_symlink(dir.path() / "host/secret", file());
  EXPECT_EQ(found(), "") << "no such file in the image";
  fs::remove(file());
  fs::create_symlink("ld.so.preload", file());
  EXPECT_EQ(found(), "");
  fs::remove_all(root() / "etc");
  fs::create_symlink(dir.path() / "host", root() / "etc");
  write(dir.path() / "host/ld.so.preload", "of the host");
  EXPECT_EQ(found(), "");
}

TEST_F(ImagePreloadTest, WhatIsNoFileIsNotOpened) {
  ASSERT_EQ(::mkfifo(file().c_str(), 0644), 0);
  EXPECT_EQ(found(), "");
  fs::remove(file());
  fs::create_directory(file());
  EXPECT_EQ(found(), "");
  fs::remove(file());
  // A device that would deliver bytes without end.
  if (::mknod(file().c_str(), S_IFCHR | 0644, makedev(1, 5)) != 0) GTEST_SKIP() << "not root";
  EXPECT_EQ(found(), "");
}

TEST_F(ImagePreloadTest, AHugeFileIsReadInPart) {
  write(file(), "libfoo.so\n");
  fs::resize_file(file(), std::uintmax_t{1} << 40U);
  EXPECT_EQ(found().substr(0, 10), "libfoo.so ");
  write(file(), std::string(200'000, 'x'));
  EXPECT_EQ(found(), std::string(478, 'x') + " (what follows 64 KiB is not read)");
}

TEST_F(ImagePreloadTest, WhatStandsBehindThePartThatIsReadIsNotNothing) {
  const std::string comment(kLongestPreloadFile - 1, '#');
  write(file(), comment + "\n");
  EXPECT_EQ(found(), "");
  write(file(), comment + "\nlibfoo.so\n");
  EXPECT_EQ(found(), "(what follows 64 KiB is not read)");
}

TEST_F(ImagePreloadTest, NamesAreMadePrintable) {
  write(file(), "lib\x1b[31m\xff.so");
  EXPECT_EQ(found(), "lib?[31m?.so");
}

TEST_F(ImagePreloadTest, NoRootFileSystemIsAnError) {
  EXPECT_FALSE(find_image_preload(dir.path() / "none"));
}

}  // namespace
}  // namespace tranche::hook::image_preload_test
