#include "process/liveness_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "support/fake_clock.h"
#include "support/temp_dir.h"

namespace tranche::process::liveness_file_test {
namespace {

using testing::HasSubstr;

TEST(LivenessFile, ALoopThatStandsStillIsFoundByTheAgeOfItsBeat) {
  const test::TempDir dir;
  const auto file = dir.path() / "alive";
  test::FakeClock clock;
  const auto nobody = LivenessFile::check(file, clock, "arbiter");
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Code::kUnavailable);
  EXPECT_THAT(nobody.error().what,
              HasSubstr("no arbiter runs with the state folder " + dir.path().string()));
  {
    LivenessFile sign(file, clock);
    sign.beat();
    EXPECT_TRUE(LivenessFile::check(file, clock, "arbiter"));
    clock.advance(LivenessFile::kLongest);
    EXPECT_TRUE(LivenessFile::check(file, clock, "arbiter"));
    clock.advance(std::chrono::seconds(1));
    const auto dead = LivenessFile::check(file, clock, "arbiter");
    ASSERT_FALSE(dead);
    EXPECT_THAT(dead.error().what, HasSubstr("the arbiter's last sign of life is 31 s old"));
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

// The arbiter's folder is a tmpfs of the node, and anybody there may fill it.
TEST(LivenessFile, AFolderWithoutRoomIsNoDeath) {
  const test::TempDir dir;
  const auto file = dir.path() / "none" / "alive";
  test::FakeClock clock;
  {
    LivenessFile sign(file, clock);
    sign.beat();
    EXPECT_FALSE(std::filesystem::exists(file));
    EXPECT_TRUE(LivenessFile::check(file, clock, "arbiter"));
    clock.advance(LivenessFile::kLongest + std::chrono::seconds(1));
    EXPECT_FALSE(LivenessFile::check(file, clock, "arbiter")) << "its loop stands still";
  }
  EXPECT_FALSE(LivenessFile::check(file, clock, "arbiter"));
}

TEST(LivenessFile, AReaderElsewhereGoesByTheFile) {
  const test::TempDir dir;
  const auto file = dir.path() / "alive";
  test::FakeClock clock;
  ASSERT_TRUE(FsRoot().write_atomic(file, "1767225600\n"));
  EXPECT_TRUE(LivenessFile::check(file, clock, "arbiter"));
  clock.advance(LivenessFile::kLongest + std::chrono::seconds(1));
  EXPECT_FALSE(LivenessFile::check(file, clock, "arbiter"));
  ASSERT_TRUE(FsRoot().write_atomic(file, "soon\n"));
  EXPECT_FALSE(LivenessFile::check(file, clock, "arbiter"));
}

TEST(LivenessFile, AnExistingFileIsWrittenInItsPlace) {
  const test::TempDir dir;
  const auto file = dir.path() / "alive";
  test::FakeClock clock;
  LivenessFile sign(file, clock);
  sign.beat();
  struct stat before{};
  ASSERT_EQ(::stat(file.c_str(), &before), 0);
  clock.advance(LivenessFile::kBeat);
  sign.beat();
  struct stat after{};
  ASSERT_EQ(::stat(file.c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(FsRoot().read(file).value(), "1767225605\n");
}

TEST(LivenessFile, BeatsAreWrittenWhenTheLastOneIsOld) {
  const test::TempDir dir;
  const auto file = dir.path() / "alive";
  test::FakeClock clock;
  LivenessFile sign(file, clock);
  sign.beat();
  std::filesystem::remove(file);
  sign.beat();
  EXPECT_FALSE(std::filesystem::exists(file)) << "the last one is young";
  clock.advance(LivenessFile::kBeat);
  sign.beat();
  EXPECT_TRUE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace tranche::process::liveness_file_test
