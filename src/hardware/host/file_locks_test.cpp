#include "host/file_locks.h"

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/descriptor.h"
#include "base/fs.h"
#include "host/process.h"
#include "support/temp_dir.h"

namespace tranche::host::file_locks_test {
namespace {

constexpr const char* kTable =
    "1: FLOCK  ADVISORY  WRITE 4711 00:17:9876 0 EOF\n"
    "1: -> FLOCK  ADVISORY  WRITE 4712 00:17:9876 0 EOF\n"
    "2: POSIX  ADVISORY  WRITE 31 00:17:77 0 EOF\n"
    "3: FLOCK  ADVISORY  READ  32 00:17:78 0 EOF\n"
    "4: OFDLCK ADVISORY  WRITE -1 103:02:79 0 EOF\n"
    "5: FLOCK  ADVISORY  WRITE 33 103:02:80 0 EOF\n"
    "torn";

TEST(FileLocks, TheHolderOfTheWholeFileIsFound) {
  struct Case {
    const char* name;
    const char* device;
    ino_t inode;
    std::optional<pid_t> holder;
  };
  for (const auto& [name, device, inode, holder] :
       {Case{"held, and another waits", "0:23", 9876, 4711}, Case{"a disk", "259:2", 80, 33},
        Case{"another file", "0:23", 987, std::nullopt},
        Case{"another device", "0:24", 9876, std::nullopt},
        Case{"another kind of lock", "0:23", 77, std::nullopt},
        Case{"shared", "0:23", 78, std::nullopt}, Case{"nobody's", "259:2", 79, std::nullopt},
        Case{"no device", "", 9876, std::nullopt}, Case{"garbage", "x:y", 9876, std::nullopt}}) {
    EXPECT_EQ(holder_of(kTable, device, inode), holder) << name;
  }
  EXPECT_EQ(holder_of("", "0:23", 9876), std::nullopt);
}

// As this machine's kernel writes it.
TEST(FileLocks, OfThisProcess) {
  const test::TempDir dir;
  const auto file = dir.path() / "lock";
  const Descriptor fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  struct stat known{};
  ASSERT_EQ(::fstat(fd.get(), &known), 0);
  const auto place = place_of(own_mounts(FsRoot()), std::filesystem::canonical(dir.path()));
  ASSERT_TRUE(place);
  const auto holder = [&] {
    return holder_of(FsRoot().read("/proc/locks").value_or(""), place->device, known.st_ino);
  };
  EXPECT_EQ(holder(), std::nullopt);
  ASSERT_EQ(::flock(fd.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(holder(), ::getpid());
}

}  // namespace
}  // namespace tranche::host::file_locks_test
