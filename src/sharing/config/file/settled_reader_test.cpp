#include "config/file/settled_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/descriptor.h"
#include "support/temp_dir.h"

namespace tranche::config::settled_reader_test {
namespace {

namespace stdfs = std::filesystem;
using testing::HasSubstr;

// Shows the file system's own time, moved by `ahead`: the kernel stamps changes.
class AheadClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override { return {}; }
  std::chrono::system_clock::time_point wall_now() const override {
    return std::chrono::system_clock::now() + ahead;
  }
  std::chrono::seconds ahead{0};
};

class SettledReaderTest : public testing::Test {
 protected:
  void write(std::string_view text) { std::ofstream(file_) << text; }
  void replace(std::string_view text) {
    std::ofstream(root_ / "fresh") << text;
    stdfs::rename(root_ / "fresh", file_);
  }
  Result<ConfigText> read() { return reader_.read(fs_, "/config.yaml", "", clock_); }
  std::string text() {
    const auto result = read();
    return result ? result->text : std::string(to_string(result.error().code));
  }

  const test::TempDir dir_;
  const stdfs::path root_ = dir_.path();
  const stdfs::path file_ = root_ / "config.yaml";
  const FsRoot fs_{root_};
  AheadClock clock_;
  SettledReader reader_;
};

TEST_F(SettledReaderTest, AFileThatIsOpenForWritingIsNotReadYet) {
  write("whole");
  ASSERT_EQ(text(), "whole");
  Descriptor writer(::open(file_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  ASSERT_EQ(::write(writer.get(), "ha", 2), 2);
  const auto half = read();
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().code, Code::kUnavailable);
  EXPECT_THAT(half.error().message(), HasSubstr("config.yaml is being written; it is read again"));
  EXPECT_TRUE(reader_.rewriting());
  // Unchanged for long, and still open.
  clock_.ahead = SettledReader::kForgotten / 2;
  EXPECT_EQ(text(), "unavailable");
  ASSERT_EQ(::write(writer.get(), "lf", 2), 2);
  writer.close();
  EXPECT_EQ(text(), "half");
  EXPECT_FALSE(reader_.rewriting());
}

TEST_F(SettledReaderTest, AtTheFirstReadTooAWriterIsWaitedFor) {
  const Descriptor writer(::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  EXPECT_EQ(text(), "unavailable");
}

TEST_F(SettledReaderTest, WhoKeepsAFileOpenAndDoesNotWriteIsNotWaitedForForEver) {
  write("whole");
  const Descriptor writer(::open(file_.c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(text(), "unavailable");
  clock_.ahead = SettledReader::kForgotten + std::chrono::seconds(1);
  EXPECT_EQ(text(), "whole");
}

TEST_F(SettledReaderTest, AFileChangedInPlaceCountsWhenItHasBeenQuiet) {
  write("one");
  ASSERT_EQ(text(), "one");
  write("two");
  EXPECT_EQ(text(), "unavailable");
  clock_.ahead = SettledReader::kQuiet;
  EXPECT_EQ(text(), "two");
}

TEST_F(SettledReaderTest, WhatSaysTheSameIsNotWaitedFor) {
  write("one");
  ASSERT_EQ(text(), "one");
  write("one");
  EXPECT_EQ(text(), "one");
}

TEST_F(SettledReaderTest, AnotherFileInItsPlaceCountsAtOnceWhateverItSays) {
  write("one");
  ASSERT_EQ(text(), "one");
  for (const auto* next : {"two", "", "three"}) {
    replace(next);
    EXPECT_EQ(text(), next);
  }
}

TEST_F(SettledReaderTest, AnEmptiedFileIsRefusedUntilItIsWrittenAgain) {
  write("one");
  ASSERT_EQ(text(), "one");
  for (const auto* nothing : {"\n", "# one\n", "---\n", "null\n", "sharing:\n# one\n"}) {
    write(nothing);
    clock_.ahead = SettledReader::kQuiet;
    const auto emptied = read();
    ASSERT_FALSE(emptied) << nothing;
    EXPECT_EQ(emptied.error().code, Code::kInvalidArgument);
    EXPECT_THAT(
        emptied.error().message(),
        HasSubstr("config.yaml: the file was emptied; write 'version: v1' to share nothing"));
    EXPECT_FALSE(reader_.rewriting());
  }
  write("two");
  EXPECT_EQ(text(), "two");
}

TEST_F(SettledReaderTest, AnEmptyFileFromTheStartIsTakenAsNvidiasPluginTakesIt) {
  write("");
  EXPECT_EQ(text(), "");
  write("# one\n");
  clock_.ahead = SettledReader::kQuiet;
  EXPECT_EQ(text(), "# one\n") << "nothing was taken away";
  write("one");
  clock_.ahead = SettledReader::kQuiet;
  EXPECT_EQ(text(), "one");
}

TEST_F(SettledReaderTest, ALinkToDevNullIsEmptyAtOnce) {
  write("one");
  ASSERT_EQ(text(), "one");
  stdfs::remove(file_);
  stdfs::create_symlink("/dev/null", file_);
  EXPECT_EQ(text(), "");
  EXPECT_EQ(text(), "");
}

TEST_F(SettledReaderTest, AChangeInTheFutureIsAnOldOne) {
  write("one");
  ASSERT_EQ(text(), "one");
  write("two");
  clock_.ahead = std::chrono::hours(-1);
  EXPECT_EQ(text(), "two");
}

}  // namespace
}  // namespace tranche::config::settled_reader_test
