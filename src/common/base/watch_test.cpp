#include "base/watch.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "support/temp_dir.h"

namespace tranche::watch_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

void write(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::trunc) << text;
}

// inotify reports a change before the call that made it returns, so a test need not wait.
class WatchTest : public testing::Test {
 protected:
  Watch open(std::vector<fs::path> paths) {
    auto watch = Watch::open(std::move(paths));
    EXPECT_TRUE(watch) << watch.error().what;
    return *std::move(watch);
  }

  // A ConfigMap volume: `..data` -> `..<version>`, and each key -> `..data/<key>`.
  fs::path make_volume(const fs::path& folder) {
    fs::create_directories(folder / "..1");
    write(folder / "..1" / "config.yaml", "1");
    fs::create_symlink("..1", folder / "..data");
    fs::create_symlink("..data/config.yaml", folder / "config.yaml");
    return folder / "config.yaml";
  }
  // As kubelet updates it: a new folder, a new link, renamed over the old one, the old folder
  // removed.
  void update_volume(const fs::path& folder, int version) {
    const auto next = ".." + std::to_string(version);
    fs::create_directory(folder / next);
    write(folder / next / "config.yaml", std::to_string(version));
    fs::create_symlink(next, folder / "..data_tmp");
    fs::rename(folder / "..data_tmp", folder / "..data");
    fs::remove_all(folder / (".." + std::to_string(version - 1)));
  }

  const test::TempDir dir_;
  const fs::path root_ = dir_.path();
};

TEST_F(WatchTest, NothingHappensNothingIsTold) {
  write(root_ / "file", "1");
  auto watch = open({root_ / "file"});
  EXPECT_FALSE(watch.drain());
  std::string text;
  std::ifstream(root_ / "file") >> text;
  EXPECT_FALSE(watch.drain()) << "reading is no change";
}

TEST_F(WatchTest, OtherFilesOfTheFolderDoNotCount) {
  write(root_ / "file", "1");
  auto watch = open({root_ / "file"});
  write(root_ / "other", "1");
  fs::remove(root_ / "other");
  EXPECT_FALSE(watch.drain());
}

TEST_F(WatchTest, EveryConfigMapUpdateIsSeen) {
  const auto file = make_volume(root_ / "volume");
  auto watch = open({file});
  for (int version = 2; version < 6; ++version) {
    update_volume(root_ / "volume", version);
    EXPECT_TRUE(watch.drain()) << "update to version " << version;
    EXPECT_FALSE(watch.drain()) << "version " << version << " is told once";
  }
}

TEST_F(WatchTest, AFolderIsWatchedWithItsConfigMapUpdates) {
  make_volume(root_ / "volume");
  auto watch = open({root_ / "volume"});
  update_volume(root_ / "volume", 2);
  EXPECT_TRUE(watch.drain());
  update_volume(root_ / "volume", 3);
  EXPECT_TRUE(watch.drain());
}

TEST_F(WatchTest, OuterLinkIsFollowedIntoTheVolume) {
  const auto file = make_volume(root_ / "volume");
  fs::create_directory(root_ / "config");
  fs::create_symlink(file, root_ / "config" / "config.yaml");
  auto watch = open({root_ / "config" / "config.yaml"});
  update_volume(root_ / "volume", 2);
  EXPECT_TRUE(watch.drain()) << "a change behind the outer link";
  write(root_ / "elsewhere", "x");
  fs::remove(root_ / "config" / "config.yaml");
  fs::create_symlink("../elsewhere", root_ / "config" / "config.yaml");
  EXPECT_TRUE(watch.drain()) << "the outer link itself";
  update_volume(root_ / "volume", 3);
  EXPECT_FALSE(watch.drain()) << "the volume is no longer on the way";
  write(root_ / "elsewhere", "y");
  EXPECT_TRUE(watch.drain()) << "the new target";
}

TEST_F(WatchTest, LinkedFolderOnTheWay) {
  fs::create_directories(root_ / "a" / "sub");
  fs::create_directories(root_ / "b" / "sub");
  write(root_ / "a" / "sub" / "file", "a");
  write(root_ / "b" / "sub" / "file", "b");
  fs::create_directory_symlink("a", root_ / "current");
  auto watch = open({root_ / "current" / "sub" / "file"});
  fs::create_directory_symlink("b", root_ / "next");
  EXPECT_FALSE(watch.drain());
  fs::rename(root_ / "next", root_ / "current");
  EXPECT_TRUE(watch.drain());
  write(root_ / "b" / "sub" / "file", "c");
  EXPECT_TRUE(watch.drain());
}

TEST_F(WatchTest, EditInPlaceCountsWhenTheWriterCloses) {
  write(root_ / "file", "1");
  auto watch = open({root_ / "file"});
  {
    std::ofstream file(root_ / "file", std::ios::trunc);
    file << "half" << std::flush;
    EXPECT_FALSE(watch.drain()) << "an unfinished file is nobody's configuration";
  }
  EXPECT_TRUE(watch.drain());
}

TEST_F(WatchTest, RenameOver) {
  write(root_ / "file", "1");
  auto watch = open({root_ / "file"});
  for (int i = 0; i < 3; ++i) {
    write(root_ / "new", "2");
    watch.drain();
    fs::rename(root_ / "new", root_ / "file");
    EXPECT_TRUE(watch.drain());
  }
}

TEST_F(WatchTest, FileThatDoesNotExistYet) {
  auto watch = open({root_ / "deep" / "folder" / "file"});
  fs::create_directories(root_ / "deep" / "folder");
  EXPECT_TRUE(watch.drain());
  write(root_ / "deep" / "folder" / "file", "1");
  EXPECT_TRUE(watch.drain());
  fs::remove(root_ / "deep" / "folder" / "file");
  EXPECT_TRUE(watch.drain());
  write(root_ / "deep" / "folder" / "file", "2");
  EXPECT_TRUE(watch.drain());
}

TEST_F(WatchTest, FolderReplaced) {
  fs::create_directory(root_ / "folder");
  write(root_ / "folder" / "file", "1");
  auto watch = open({root_ / "folder" / "file"});
  fs::rename(root_ / "folder", root_ / "old");
  fs::create_directory(root_ / "folder");
  EXPECT_TRUE(watch.drain());
  write(root_ / "old" / "file", "not ours");
  EXPECT_FALSE(watch.drain());
  write(root_ / "folder" / "file", "2");
  EXPECT_TRUE(watch.drain());
}

TEST_F(WatchTest, FolderAboveRemovedAndMadeAgain) {
  fs::create_directories(root_ / "a" / "b");
  write(root_ / "a" / "b" / "file", "1");
  auto watch = open({root_ / "a" / "b" / "file"});
  fs::remove_all(root_ / "a");
  EXPECT_TRUE(watch.drain());
  fs::create_directories(root_ / "a" / "b");
  EXPECT_TRUE(watch.drain());
  write(root_ / "a" / "b" / "file", "2");
  EXPECT_TRUE(watch.drain());
}

TEST_F(WatchTest, LoopOfLinksIsWatchedUntilItIsCut) {
  fs::create_symlink("b", root_ / "a");
  fs::create_symlink("a", root_ / "b");
  auto watch = open({root_ / "a"});
  EXPECT_FALSE(watch.drain());
  fs::remove(root_ / "b");
  write(root_ / "b", "1");
  EXPECT_TRUE(watch.drain());
  write(root_ / "b", "2");
  EXPECT_TRUE(watch.drain());
}

TEST_F(WatchTest, DotDotInATargetIsTheRealParent) {
  fs::create_directories(root_ / "real" / "sub");
  write(root_ / "real" / "file", "1");
  fs::create_directory_symlink("real/sub", root_ / "link");
  fs::create_symlink("link/../file", root_ / "path");
  auto watch = open({root_ / "path"});
  write(root_ / "real" / "file", "2");
  EXPECT_TRUE(watch.drain());
}

TEST_F(WatchTest, SeveralPaths) {
  write(root_ / "a", "1");
  write(root_ / "b", "1");
  auto watch = open({root_ / "a", root_ / "b"});
  write(root_ / "a", "2");
  EXPECT_TRUE(watch.drain());
  write(root_ / "b", "2");
  EXPECT_TRUE(watch.drain());
}

TEST_F(WatchTest, MovedWatchGoesOn) {
  write(root_ / "file", "1");
  auto first = open({root_ / "file"});
  Watch second = std::move(first);
  first = open({root_ / "other"});
  write(root_ / "file", "2");
  EXPECT_TRUE(second.drain());
  EXPECT_FALSE(first.drain());
}

TEST_F(WatchTest, WaitTimesOut) {
  auto watch = open({root_ / "file"});
  EXPECT_EQ(watch.wait(milliseconds(1), {}), Watch::Outcome::kTimeout);
}

TEST_F(WatchTest, WaitEndsAtAChangeMadeByAnother) {
  auto watch = open({root_ / "file"});
  const std::jthread writer([&] { write(root_ / "file", "1"); });
  EXPECT_EQ(watch.wait(std::chrono::minutes(1), {}), Watch::Outcome::kChanged);
}

TEST_F(WatchTest, WaitEndsWhenStopped) {
  auto watch = open({root_ / "file"});
  std::stop_source stop;
  const std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_EQ(watch.wait(std::chrono::minutes(1), stop.get_token()), Watch::Outcome::kStopped);
}

}  // namespace
}  // namespace tranche::watch_test
