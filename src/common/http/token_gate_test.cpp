#include "http/token_gate.h"

#include <gtest/gtest.h>

#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::http::token_gate_test {
namespace {

class TokenGateTest : public testing::Test {
 protected:
  bool admits(const std::string& authorization) {
    Request request;
    request.authorization = authorization;
    return gate_.admits(request);
  }

  test::TempDir dir_;
  test::LogRecorder log_;
  TokenGate gate_{dir_.path() / "token", "metrics are refused to all", log_.log()};
};

TEST_F(TokenGateTest, OnlyTheToken) {
  ASSERT_TRUE(FsRoot(dir_.path()).write_atomic("/token", "secret\n"));
  EXPECT_TRUE(admits("Bearer secret"));
  EXPECT_FALSE(admits("Bearer other"));
  EXPECT_FALSE(admits(""));
  EXPECT_TRUE(log_.lines().empty()) << "a stranger is no news";
}

TEST_F(TokenGateTest, AFileWithoutATokenLetsNobodyInAndSaysSo) {
  EXPECT_FALSE(admits("Bearer secret"));
  EXPECT_FALSE(admits("Bearer "));
  EXPECT_EQ(log_.count("metrics are refused to all: "), 1);
}

TEST_F(TokenGateTest, WithoutAFileEverybody) {
  TokenGate open("", "", log_.log());
  EXPECT_TRUE(open.admits({}));
}

}  // namespace
}  // namespace tranche::http::token_gate_test
