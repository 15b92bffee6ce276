#include "kube/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "support/temp_dir.h"

namespace tranche::kube::identity_test {
namespace {

class IdentityTest : public testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return dir_.path() / name; }
  // Replaces a file atomically, like kubelet and certificate managers.
  void replace(const std::string& name, const std::string& text) {
    std::ofstream(path(name + ".new")) << text;
    std::filesystem::rename(path(name + ".new"), path(name));
  }
  Credentials credentials() const {
    Credentials credentials;
    credentials.from = "the test";
    credentials.token.file = path("token");
    credentials.authority.text = "inline";
    return credentials;
  }
  test::TempDir dir_;
};

TEST_F(IdentityTest, SamePointerUntilSomethingChanged) {
  replace("token", "one\n");
  const auto reloader = IdentityReloader::open(credentials());
  ASSERT_TRUE(reloader);
  const auto first = (*reloader)->current();
  EXPECT_EQ(first->token, "one");
  EXPECT_EQ(first->authority, "inline");
  EXPECT_EQ((*reloader)->current(), first);
  replace("token", "two");
  EXPECT_EQ((*reloader)->current()->token, "two");
  // Rewritten with the same content: nothing changed for the connection.
  const auto second = (*reloader)->current();
  replace("token", "two");
  EXPECT_EQ((*reloader)->current(), second);
}

TEST_F(IdentityTest, WrittenInPlaceCountsToo) {
  replace("token", "one");
  const auto reloader = IdentityReloader::open(credentials());
  std::ofstream(path("token")) << "longer";
  EXPECT_EQ((*reloader)->current()->token, "longer");
}

TEST_F(IdentityTest, AnUnreadableFileKeepsTheOldIdentity) {
  replace("token", "one");
  const auto reloader = IdentityReloader::open(credentials());
  for (const auto* const text : {"", "   \n", "two words", "esc\033"}) {
    replace("token", text);
    EXPECT_EQ((*reloader)->current()->token, "one") << text;
  }
  std::filesystem::remove(path("token"));
  EXPECT_EQ((*reloader)->current()->token, "one");
  replace("token", "two");
  EXPECT_EQ((*reloader)->current()->token, "two");
}

TEST_F(IdentityTest, SeveralThreadsWhileItRotates) {
  replace("token", "token-0");
  const auto reloader = IdentityReloader::open(credentials());
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        EXPECT_THAT((*reloader)->current()->token, testing::StartsWith("token-"));
      }
    });
  }
  for (int i = 1; i <= 50; ++i) replace("token", "token-" + std::to_string(i));
  threads.clear();
  EXPECT_EQ((*reloader)->current()->token, "token-50");
}

}  // namespace
}  // namespace tranche::kube::identity_test
