#include "labels/feature_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/fake_clock.h"
#include "support/temp_dir.h"

namespace tranche::labels::feature_file_test {
namespace {

using Owner = FeatureFile::Owner;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kFolder = "/etc/kubernetes/node-feature-discovery/features.d";

class FeatureFileTest : public testing::Test {
 protected:
  FeatureFileTest() { EXPECT_TRUE(fs_.make_directories(kFolder).has_value()); }

  std::filesystem::path real() const { return fs_.resolve(file_.path()); }
  // Writes as another program, `age` before now.
  void foreign(const std::string& text, seconds age) {
    std::ofstream(real()) << text;
    touch(age);
  }
  void touch(seconds age) {
    std::filesystem::last_write_time(real(),
                                     std::chrono::file_clock::from_sys(clock_.wall_now() - age));
  }
  Owner owner() {
    const auto owner = file_.owner(clock_.wall_now());
    EXPECT_TRUE(owner.has_value()) << owner.error().message();
    return owner.value_or(Owner::kNobody);
  }

  test::TempDir dir_;
  test::FakeClock clock_;
  FsRoot fs_{dir_.path()};
  FeatureFile file_{fs_, std::string(kFolder) + "/gfd"};
};

TEST(FeatureText, RendersSorted) {
  EXPECT_EQ(render({{"nvidia.com/gpu.count", "8"}, {"nvidia.com/cuda.driver.rev", ""}}),
            "nvidia.com/cuda.driver.rev=\nnvidia.com/gpu.count=8\n");
  EXPECT_EQ(render({}), "");
}

TEST(FeatureText, Parses) {
  struct Case {
    std::string name, text;
    Labels want;
  };
  const std::vector<Case> cases = {
      {"empty", "", {}},
      {"two lines", "a=1\nb=2\n", {{"a", "1"}, {"b", "2"}}},
      {"no newline at the end", "a=1", {{"a", "1"}}},
      {"comments, blank and Windows lines", "# x=y\n\na=1\r\n", {{"a", "1"}}},
      {"no value", "a=\n", {{"a", ""}}},
      {"no equals", "a\n", {{"a", "true"}}},
      {"equals in the value", "a=b=c\n", {{"a", "b=c"}}},
      {"repeated", "a=1\na=2\n", {{"a", "2"}}},
  };
  for (const auto& c : cases) {
    const auto labels = parse(c.text);
    ASSERT_TRUE(labels.has_value()) << c.name;
    EXPECT_EQ(*labels, c.want) << c.name;
  }
  const auto bad = parse("a=1\n=2\n");
  ASSERT_FALSE(bad.has_value());
  EXPECT_THAT(bad.error().what, HasSubstr("line 2"));
}

TEST(FeatureText, WhatIsRenderedIsParsed) {
  const Labels labels = {{"nvidia.com/gpu.product", "NVIDIA-L20-SHARED"}, {"a", ""}, {"b", "c=d"}};
  EXPECT_EQ(*parse(render(labels)), labels);
}

TEST(RemovedOnExit, NvidiasRule) {
  const config::GfdFlags daemon;
  EXPECT_TRUE(removed_on_exit(daemon));
  auto once = daemon;
  once.oneshot = true;
  EXPECT_FALSE(removed_on_exit(once));
  auto infinite = daemon;
  infinite.sleep_interval.reset();
  EXPECT_FALSE(removed_on_exit(infinite));
  auto console = daemon;
  console.output_file.clear();
  EXPECT_FALSE(removed_on_exit(console));
}

TEST_F(FeatureFileTest, WritesForEveryoneToReadAndLeavesNothingElseVisible) {
  EXPECT_EQ(owner(), Owner::kNobody);
  ASSERT_TRUE(file_.write({{"nvidia.com/gpu.count", "1"}}).has_value());
  EXPECT_EQ(*fs_.read(file_.path()), "nvidia.com/gpu.count=1\n");
  EXPECT_EQ(std::filesystem::status(real()).permissions(), std::filesystem::perms(0644));
  EXPECT_THAT(*fs_.list(kFolder), ElementsAre(".gfd.tranche", "gfd")) << "NFD ignores hidden files";
  EXPECT_EQ(owner(), Owner::kUs);
}

TEST_F(FeatureFileTest, OursStaysOursWithoutThisProcess) {
  ASSERT_TRUE(file_.write({{"a", "1"}}).has_value());
  touch(seconds(3600));
  const FeatureFile later(fs_, file_.path());
  EXPECT_EQ(*later.owner(clock_.wall_now()), Owner::kUs);
}

TEST_F(FeatureFileTest, AnotherWritersFile) {
  struct Case {
    std::string name;
    seconds age;
    Owner want;
  };
  const std::vector<Case> cases = {
      {"just written", seconds(0), Owner::kOther},
      {"one interval ago", seconds(60), Owner::kOther},
      {"two intervals ago", seconds(120), Owner::kAbandoned},
      {"slightly in the future", seconds(-10), Owner::kOther},
      {"far in the future", seconds(-86400), Owner::kAbandoned},
  };
  for (const auto& c : cases) {
    foreign("nvidia.com/gpu.count=9\n", c.age);
    EXPECT_EQ(owner(), c.want) << c.name;
  }
}

TEST_F(FeatureFileTest, SomeoneWritesOverOurs) {
  ASSERT_TRUE(file_.write({{"a", "1"}}).has_value());
  foreign("a=2\n", seconds(1));
  EXPECT_EQ(owner(), Owner::kOther);
  ASSERT_TRUE(file_.remove().has_value());
  EXPECT_EQ(*fs_.read(file_.path()), "a=2\n") << "not ours to remove";
  EXPECT_THAT(*fs_.list(kFolder), ElementsAre("gfd"));
}

TEST_F(FeatureFileTest, RemoveTakesBothFiles) {
  ASSERT_TRUE(file_.write({{"a", "1"}}).has_value());
  ASSERT_TRUE(file_.remove().has_value());
  EXPECT_THAT(*fs_.list(kFolder), ElementsAre());
  EXPECT_TRUE(file_.remove().has_value()) << "again";
}

TEST_F(FeatureFileTest, MissingFolder) {
  const FeatureFile nowhere(fs_, "/no/such/folder/gfd");
  EXPECT_TRUE(file_.folder_exists());
  EXPECT_FALSE(nowhere.folder_exists());
  EXPECT_EQ(*nowhere.owner(clock_.wall_now()), Owner::kNobody);
  const auto written = nowhere.write({{"a", "1"}});
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace tranche::labels::feature_file_test
