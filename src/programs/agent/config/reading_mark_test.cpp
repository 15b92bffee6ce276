#include "agent/config/reading_mark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace tranche::agent::reading_mark_test {
namespace {

using testing::HasSubstr;

class ReadingMarkTest : public testing::Test {
 protected:
  bool begins(std::string_view text) const { return mark_.begin(text, "f").has_value(); }
  void write(std::string_view content) const { ASSERT_TRUE(fs_.write_atomic(file_, content)); }

  test::TempDir dir_;
  FsRoot fs_;
  const std::filesystem::path file_ = dir_.path() / "config-being-read";
  const ReadingMark mark_{file_};
};

TEST_F(ReadingMarkTest, WhatWasReadToItsEndLeavesNothing) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(begins("a"));
    mark_.end();
  }
  EXPECT_FALSE(fs_.exists(file_));
}

TEST_F(ReadingMarkTest, WhatEndedTwoProcessesIsRefused) {
  EXPECT_TRUE(begins("a"));
  EXPECT_TRUE(begins("a")) << "the first may have ended for another reason";
  for (int i = 0; i < 2; ++i) {
    const auto refused = mark_.begin("a", "kube-system/x:l20");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_EQ(refused.error().what, "kube-system/x:l20: reading it has ended this program 2 times");
    EXPECT_THAT(refused.error().hint, HasSubstr("remove " + file_.string()));
  }
}

TEST_F(ReadingMarkTest, AnotherTextAndARemovedFileBeginAnew) {
  EXPECT_TRUE(begins("a") && begins("a") && !begins("a"));
  EXPECT_TRUE(begins("b"));
  mark_.end();
  EXPECT_TRUE(begins("a") && begins("a") && !begins("a"));
  ASSERT_TRUE(fs_.remove(file_));
  EXPECT_TRUE(begins("a"));
}

TEST_F(ReadingMarkTest, ADamagedFileCountsAsOneTry) {
  for (const auto* content : {"", "torn", "0123456789abcdef", "0123456789abcdef -7\n",
                              "0123456789abcdef 99999999999\n", "0123456789abcdef 2"}) {
    write(content);
    EXPECT_TRUE(begins("a")) << content;
    EXPECT_FALSE(begins("a")) << content;
  }
  write(std::string(100'000, 'x'));
  EXPECT_TRUE(begins("a"));
  EXPECT_FALSE(begins("a"));
}

TEST_F(ReadingMarkTest, WhereNothingCanBeWrittenEverythingIsRead) {
  ASSERT_TRUE(fs_.make_directories(file_ / "full"));
  const ReadingMark nowhere(dir_.path() / "missing" / "mark");
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(begins("a"));
    EXPECT_TRUE(nowhere.begin("a", "f"));
  }
  mark_.end();
}

}  // namespace
}  // namespace tranche::agent::reading_mark_test
