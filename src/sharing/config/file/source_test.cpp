#include "config/file/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "support/temp_dir.h"

namespace tranche::config::source_test {
namespace {

namespace stdfs = std::filesystem;
using testing::HasSubstr;

class SourceTest : public testing::Test {
 protected:
  void write(const stdfs::path& path, std::string_view text) {
    stdfs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  // A mounted ConfigMap with these keys.
  void make_volume(const std::vector<std::string>& keys) {
    for (const auto& key : keys) {
      write(stdfs::path("volume/..2026_01") / key, "text of " + key);
      stdfs::create_symlink("..data/" + key, root_ / "volume" / key);
    }
    stdfs::create_directories(root_ / "volume/..2026_01");
    stdfs::create_directory_symlink("..2026_01", root_ / "volume/..data");
  }
  std::string error_of(const stdfs::path& path, std::string_view name = {}) {
    const auto text = read_config(fs_, path, name);
    EXPECT_FALSE(text);
    return text ? "" : text.error().message();
  }

  const test::TempDir dir_;
  const stdfs::path root_ = dir_.path();
  const FsRoot fs_{root_};
};

TEST_F(SourceTest, File) {
  write("config/config.yaml", "version: v1");
  const auto text = read_config(fs_, "/config/config.yaml");
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(*text, (ConfigText{"version: v1", (root_ / "config/config.yaml").string(), ""}));
}

TEST_F(SourceTest, EmptyFileAndDevNull) {
  write("empty", "");
  EXPECT_EQ(read_config(fs_, "/empty")->text, "");
  stdfs::create_symlink("/dev/null", root_ / "link");
  EXPECT_EQ(read_config(fs_, "/link")->text, "");
}

TEST_F(SourceTest, NamedKeyOfAConfigMap) {
  make_volume({"any", "l20", "t4"});
  const auto text = read_config(fs_, "/volume", "l20");
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(text->text, "text of l20");
  EXPECT_EQ(text->key, "l20");
  EXPECT_EQ(text->name, (root_ / "volume/l20").string());
}

TEST_F(SourceTest, DefaultKeyOfSeveral) {
  make_volume({"default", "l20"});
  EXPECT_EQ(read_config(fs_, "/volume")->key, "default");
}

TEST_F(SourceTest, OnlyKey) {
  make_volume({"config.yaml"});
  EXPECT_EQ(read_config(fs_, "/volume")->key, "config.yaml");
}

TEST_F(SourceTest, NamesLeaveOutTheVolumesOwnAndFolders) {
  make_volume({"b", "a", ".hidden"});
  stdfs::create_directory(root_ / "volume/folder");
  EXPECT_EQ(*config_names(fs_, "/volume"), (std::vector<std::string>{".hidden", "a", "b"}));
}

TEST_F(SourceTest, UnknownKeyListsThoseThereAre) {
  make_volume({"default", "l20"});
  const auto error = error_of("/volume", "h20");
  EXPECT_THAT(error, HasSubstr("specified config h20 does not exist"));
  EXPECT_THAT(error, HasSubstr("it has default, l20"));
}

TEST_F(SourceTest, SeveralKeysAndNoDefault) {
  make_volume({"l20", "t4"});
  const auto error = error_of("/volume");
  EXPECT_THAT(error, HasSubstr("which of its files?"));
  EXPECT_THAT(error, HasSubstr("--config-name"));
  EXPECT_THAT(error, HasSubstr("it has l20, t4"));
}

TEST_F(SourceTest, EmptyFolder) {
  make_volume({});
  EXPECT_THAT(error_of("/volume"), HasSubstr("it has no files"));
}

TEST_F(SourceTest, NameThatIsAFolder) {
  make_volume({"a"});
  stdfs::create_directory(root_ / "volume/folder");
  EXPECT_THAT(error_of("/volume", "folder"), HasSubstr("specified config folder does not exist"));
}

TEST_F(SourceTest, NameWithAFile) {
  write("file", "");
  EXPECT_THAT(error_of("/file", "l20"), HasSubstr("--config-name=l20, but configuration"));
}

TEST_F(SourceTest, MissingFile) {
  EXPECT_THAT(error_of("/none/config.yaml"),
              HasSubstr("none/config.yaml: No such file or directory; check --config-file"));
  EXPECT_EQ(read_config(fs_, "/none").error().code, Code::kNotFound);
}

TEST_F(SourceTest, DanglingLinks) {
  stdfs::create_symlink("nowhere", root_ / "link");
  EXPECT_THAT(error_of("/link"), HasSubstr("No such file or directory"));
  stdfs::create_directory(root_ / "volume");
  stdfs::create_symlink("..data/gone", root_ / "volume/gone");
  EXPECT_THAT(error_of("/volume", "gone"), HasSubstr("No such file or directory"));
}

TEST_F(SourceTest, LoopOfLinks) {
  stdfs::create_symlink("b", root_ / "a");
  stdfs::create_symlink("a", root_ / "b");
  EXPECT_THAT(error_of("/a"), HasSubstr("its symbolic links go in a circle"));
}

TEST_F(SourceTest, PipeIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo((root_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_of("/pipe"), HasSubstr("is no file"));
}

TEST_F(SourceTest, TooLarge) {
  write("huge", std::string(kMaxConfigBytes + 1, '#'));
  EXPECT_THAT(error_of("/huge"), HasSubstr("longer than 1048576 bytes"));
  EXPECT_THAT(error_of("/huge"), HasSubstr("at most 1 MiB"));
  write("large", std::string(kMaxConfigBytes, '#'));
  EXPECT_TRUE(read_config(fs_, "/large"));
}

TEST_F(SourceTest, WatchesTheFolderAndTheChosenFile) {
  using Paths = std::vector<stdfs::path>;
  make_volume({"l20", "t4"});
  EXPECT_EQ(config_watch_paths(fs_, "/volume", "l20"),
            (Paths{root_ / "volume", root_ / "volume/l20"}));
  EXPECT_EQ(config_watch_paths(fs_, "/volume"), Paths{root_ / "volume"});
  EXPECT_EQ(config_watch_paths(fs_, "/volume", "soon"), Paths{root_ / "volume"});
  EXPECT_EQ(config_watch_paths(fs_, "/volume/l20"), Paths{root_ / "volume/l20"});
  EXPECT_EQ(config_watch_paths(fs_, "/none"), Paths{root_ / "none"});
}

}  // namespace
}  // namespace tranche::config::source_test
