#include "limit/status_reader.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace tranche::limit::status_reader_test {
namespace {

class StatusReaderTest : public ::testing::Test {
 protected:
  void write(const std::string& text) {
    ASSERT_TRUE(FsRoot().write_atomic(dir_.path() / "status.json", text));
  }
  static std::string with_tenant(const std::string& id) {
    return encode({.tenants = {{.id = id}}}, {});
  }

  test::TempDir dir_;
  StatusReader reader_{dir_.path()};
};

TEST_F(StatusReaderTest, ReadsWhatIsNewOnce) {
  write(with_tenant("t1"));
  EXPECT_TRUE(reader_.refresh().value());
  EXPECT_EQ(reader_.status().tenants.at(0).id, "t1");
  EXPECT_FALSE(reader_.refresh().value());
  write(with_tenant("t2"));
  EXPECT_TRUE(reader_.refresh().value());
  EXPECT_EQ(reader_.status().tenants.at(0).id, "t2");
}

TEST_F(StatusReaderTest, WhatCannotBeReadIsSaidOnceAndChangesNothing) {
  write(with_tenant("t1"));
  EXPECT_TRUE(reader_.refresh().value());
  write("{");
  EXPECT_FALSE(reader_.refresh());
  EXPECT_FALSE(reader_.refresh().value());
  EXPECT_EQ(reader_.status().tenants.at(0).id, "t1");
}

TEST_F(StatusReaderTest, WhatWasForgottenIsReadAgain) {
  write(with_tenant("t1"));
  EXPECT_TRUE(reader_.refresh().value());
  reader_.forget();
  EXPECT_TRUE(reader_.status().tenants.empty());
  EXPECT_TRUE(reader_.refresh().value());
  EXPECT_EQ(reader_.status().tenants.at(0).id, "t1");
}

}  // namespace
}  // namespace tranche::limit::status_reader_test
