#include "http/bearer_token.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "support/temp_dir.h"

namespace tranche::http::bearer_token_test {
namespace {

using testing::HasSubstr;

class BearerTokenTest : public testing::Test {
 protected:
  void write(const std::string& text) {
    ASSERT_TRUE(FsRoot(dir_.path()).write_atomic("/token", text, 0600));
  }
  // "yes", "no", or what is wrong with the file.
  std::string ask(const std::string& authorization) {
    const auto allowed = token_.check(authorization);
    if (allowed) return "yes";
    if (allowed.error().code == Code::kPermission) return "no";
    EXPECT_EQ(allowed.error().code, Code::kFailedPrecondition);
    return allowed.error().message();
  }

  test::TempDir dir_;
  BearerToken token_{FsRoot(dir_.path()), "/token"};
};

TEST_F(BearerTokenTest, ComparesWhatTheHeaderShows) {
  write("s3cret.T-oken\n");
  const struct {
    const char* header;
    const char* answer;
  } cases[] = {
      {"Bearer s3cret.T-oken", "yes"},
      {"bearer s3cret.T-oken", "yes"},
      {"BEARER   s3cret.T-oken", "yes"},
      {"", "no"},
      {"Bearer", "no"},
      {"Bearer ", "no"},
      {"Bearer    ", "no"},
      {"s3cret.T-oken", "no"},
      {"Bearers3cret.T-oken", "no"},
      {"Bearer\ts3cret.T-oken", "no"},
      {"Basic s3cret.T-oken", "no"},
      {"Bearer s3cret.T-oke", "no"},
      {"Bearer s3cret.T-okenn", "no"},
      {"Bearer s3cret.T-oken s3cret.T-oken", "no"},
      {"Bearer s3cret.T-okens3cret.T-oken", "no"},
      {"Bearer s3cret.t-oken", "no"},
      {"Bearer x3cret.T-oken", "no"},
      {"Bearer s3cret.T-oken\n", "no"},
  };
  for (const auto& one : cases) EXPECT_EQ(ask(one.header), one.answer) << one.header;
  EXPECT_EQ(ask("Bearer " + std::string(1'000'000, 's')), "no");
}

TEST_F(BearerTokenTest, TheFilesLineEndIsNoPartOfIt) {
  for (const auto* text : {"abc", "abc\n", "abc\r\n", "abc\n\n"}) {
    write(text);
    EXPECT_EQ(ask("Bearer abc"), "yes") << text;
  }
}

TEST_F(BearerTokenTest, ANewTokenCountsAtOnce) {
  write("one");
  EXPECT_EQ(ask("Bearer one"), "yes");
  write("two");
  EXPECT_EQ(ask("Bearer one"), "no");
  EXPECT_EQ(ask("Bearer two"), "yes");
}

// As kubelet exchanges what a Secret mounts.
TEST_F(BearerTokenTest, ALinkOnItsPathIsFollowed) {
  const auto folder = [&](const char* name, const char* text) {
    std::filesystem::create_directory(dir_.path() / name);
    ASSERT_TRUE(FsRoot(dir_.path() / name).write_atomic("/token", text));
  };
  folder("1", "one");
  folder("2", "two");
  std::filesystem::create_symlink("1", dir_.path() / "..data");
  std::filesystem::create_symlink("..data/token", dir_.path() / "token");
  EXPECT_EQ(ask("Bearer one"), "yes");
  std::filesystem::create_symlink("2", dir_.path() / "..new");
  std::filesystem::rename(dir_.path() / "..new", dir_.path() / "..data");
  EXPECT_EQ(ask("Bearer one"), "no");
  EXPECT_EQ(ask("Bearer two"), "yes");
}

TEST_F(BearerTokenTest, AFileWithoutATokenLetsNobodyInAndSaysWhyOnce) {
  const auto path = (dir_.path() / "token").string();
  EXPECT_THAT(ask("Bearer a"), HasSubstr("No such file"));
  EXPECT_EQ(ask("Bearer a"), "no");
  EXPECT_EQ(ask(""), "no");
  for (const auto* text : {"", "\n", "\r\n\n"}) {
    write("good");
    EXPECT_EQ(ask("Bearer good"), "yes");
    write(text);
    EXPECT_THAT(ask("Bearer "), HasSubstr(path + " is empty; write the token")) << text;
    EXPECT_EQ(ask("Bearer "), "no");
    EXPECT_EQ(ask("Bearer good"), "no");
  }
  write("two\nlines");
  EXPECT_THAT(ask("Bearer two"), HasSubstr("no token has"));
  EXPECT_EQ(ask("Bearer two"), "no");
  write(std::string("nul\0", 4));
  // The same reason as before.
  EXPECT_EQ(ask("Bearer nul"), "no");
  write(std::string(BearerToken::kMaxBytes + 1, 'a'));
  EXPECT_THAT(ask("Bearer " + std::string(BearerToken::kMaxBytes + 1, 'a')),
              HasSubstr("longer than 4096 bytes"));
  write(std::string(BearerToken::kMaxBytes, 'a'));
  EXPECT_EQ(ask("Bearer " + std::string(BearerToken::kMaxBytes, 'a')), "yes");
  std::filesystem::remove(path);
  EXPECT_THAT(ask("Bearer a"), HasSubstr("No such file"));
}

TEST_F(BearerTokenTest, WhatIsNoFileIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo((dir_.path() / "token").c_str(), 0600), 0);
  EXPECT_THAT(ask("Bearer a"), HasSubstr("no regular file"));
  std::filesystem::remove(dir_.path() / "token");
  std::filesystem::create_directory(dir_.path() / "token");
  EXPECT_EQ(ask("Bearer a"), "no");
  std::filesystem::remove(dir_.path() / "token");
  std::filesystem::create_symlink("token", dir_.path() / "token");  // a circle
  EXPECT_THAT(ask("Bearer a"), HasSubstr("Too many levels"));
}

TEST_F(BearerTokenTest, WhileTheFileIsWrittenTheTokenBeforeCounts) {
  const auto open = [&] {
    return Descriptor(::open((dir_.path() / "token").c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  };
  write("whole");
  if (!FsRoot(dir_.path()).observe("/token")->being_written) GTEST_SKIP() << "no leases here";
  {
    const auto before_any = open();
    EXPECT_THAT(ask("Bearer whole"), HasSubstr("is being written"));
  }
  write("whole");
  EXPECT_EQ(ask("Bearer whole"), "yes");
  auto writer = open();
  EXPECT_EQ(ask("Bearer whole"), "yes");
  ASSERT_EQ(::write(writer.get(), "ne", 2), 2);
  EXPECT_EQ(ask("Bearer ne"), "no");
  EXPECT_EQ(ask("Bearer whole"), "yes");
  ASSERT_EQ(::write(writer.get(), "w", 1), 1);
  writer.close();
  EXPECT_EQ(ask("Bearer new"), "yes");
  EXPECT_EQ(ask("Bearer whole"), "no");
}

TEST_F(BearerTokenTest, ManyThreadsAskWhileItChanges) {
  write("one");
  EXPECT_EQ(ask("Bearer one"), "yes");  // counts as well while the next one is being written
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < 200; ++j) {
          if (ask("Bearer three") != "no") ++wrong;
          if (ask("Bearer one") != "yes" && ask("Bearer two") != "yes") ++wrong;
        }
      });
    }
    write("two");
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tranche::http::bearer_token_test
