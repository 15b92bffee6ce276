#include "base/pinned_file.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fs.h"
#include "support/temp_dir.h"

namespace tranche::pinned_file_test {
namespace {

int listen_at(const std::filesystem::path& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::listen(fd, 4), 0);
  return fd;
}

bool connects(const std::filesystem::path& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  const bool connected =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  ::close(fd);
  return connected;
}

TEST(PinnedFile, NothingIsThere) {
  const test::TempDir dir;
  const PinnedFile nothing(dir.path() / "none");
  EXPECT_FALSE(nothing.exists());
  EXPECT_TRUE(nothing.same(PinnedFile()));
}

TEST(PinnedFile, AReplacedFileIsAnotherOneEvenAtOnce) {
  const test::TempDir dir;
  const FsRoot fs;
  const auto path = dir.path() / "file";
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(fs.write_atomic(path, "a"));
    const PinnedFile before(path);
    EXPECT_TRUE(before.same(PinnedFile(path)));
    std::filesystem::remove(path);
    EXPECT_FALSE(before.same(PinnedFile(path)));
    ASSERT_TRUE(fs.write_atomic(path, "a"));
    EXPECT_FALSE(before.same(PinnedFile(path)));
  }
}

TEST(PinnedFile, ReachesTheSocketItHoldsAndNoSuccessor) {
  const test::TempDir dir;
  const auto path = dir.path() / "socket";
  const int first = listen_at(path);
  const PinnedFile pinned(path);
  EXPECT_TRUE(connects(pinned.path()));
  std::filesystem::remove(path);
  EXPECT_TRUE(connects(pinned.path()));
  ::close(first);
  const int second = listen_at(path);
  EXPECT_TRUE(connects(path));
  EXPECT_FALSE(connects(pinned.path()));
  ::close(second);
}

}  // namespace
}  // namespace tranche::pinned_file_test
