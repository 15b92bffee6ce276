#include "host/living_mounts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "support/temp_dir.h"

namespace tranche::host::living_mounts_test {
namespace {

using testing::Contains;
using testing::ElementsAre;

class LivingMountsTest : public testing::Test {
 protected:
  void process(int pid, const std::string& mountinfo) {
    const auto folder = fmt::format("/proc/{}", pid);
    EXPECT_TRUE(fs_.make_directories(folder));
    EXPECT_TRUE(fs_.write_atomic(folder + "/mountinfo", mountinfo));
  }
  Result<std::vector<std::string>> points() const {
    std::vector<std::string> points;
    TRY(each_living_mount(fs_, [&](const Mount& mount) { points.push_back(mount.point); }));
    return points;
  }

  test::TempDir dir_;
  FsRoot fs_{dir_.path()};
};

TEST_F(LivingMountsTest, TellsTheMountsOfEveryProcess) {
  process(1, "1 0 8:1 / / rw - ext4 x rw\n");
  process(20, "2 1 8:1 /s/tenants/t /run/tranche/t ro - ext4 x rw");
  EXPECT_TRUE(fs_.make_directories("/proc/21")) << "it ends while it is looked at";
  EXPECT_TRUE(fs_.make_directories("/proc/sys"));
  EXPECT_THAT(points().value(), ElementsAre("/", "/run/tranche/t"));
}

TEST_F(LivingMountsTest, ATableOfAnyLengthIsRead) {
  std::string long_table;
  while (long_table.size() < (std::size_t{5} << 20U)) {
    long_table += fmt::format("3 1 0:5 / /a/{} rw - tmpfs x rw\n", long_table.size());
  }
  process(7, long_table + "4 1 8:1 /s/tenants/t /run/tranche/t ro - ext4 x rw\n");
  EXPECT_THAT(points().value(), Contains("/run/tranche/t"));
}

TEST_F(LivingMountsTest, WhatCannotBeReadIsAnError) {
  EXPECT_FALSE(points()) << "no /proc";
  EXPECT_TRUE(fs_.make_directories("/proc/sys"));
  EXPECT_FALSE(points()) << "a folder that is no /proc";
  EXPECT_TRUE(fs_.make_directories("/proc/9/mountinfo"));
  EXPECT_FALSE(points()) << "not a file";
}

}  // namespace
}  // namespace tranche::host::living_mounts_test
