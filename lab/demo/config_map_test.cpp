#include "lab/demo/config_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/demo/embedded.h"
#include "support/temp_dir.h"

namespace tranche::demo::config_map_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string read(const fs::path& path) { return FsRoot().read(path).value_or("(unreadable)"); }

TEST(ConfigMap, TheEmbeddedOneHasTheKeysOfTheStory) {
  const auto data = parse_config_map(kTimeSlicingConfig, "embedded");
  ASSERT_TRUE(data) << data.error().message();
  ASSERT_EQ(data->size(), 3U);
  EXPECT_THAT(data->at("any"), HasSubstr("replicas: 2"));
  EXPECT_THAT(data->at("l20"), HasSubstr("replicas: 8"));
  EXPECT_THAT(data->at("t4"), HasSubstr("replicas: 3"));
}

TEST(ConfigMap, WhatIsNoConfigMapIsRefused) {
  struct Case {
    const char* name;
    const char* text;
    const char* message;
  };
  const std::vector<Case> cases = {
      {"no data", "kind: ConfigMap\n", "m: data: not there"},
      {"data is a list", "data: [a]\n", "m: data: not there, or no mapping"},
      {"a value is a map", "data:\n  a: x\n  b: {c: d}\n", "m:3: data.b: a mapping where text"},
      {"broken", "data: [\n", "m:"},
  };
  for (const auto& test : cases) {
    const auto data = parse_config_map(test.text, "m");
    ASSERT_FALSE(data) << test.name;
    EXPECT_THAT(data.error().message(), HasSubstr(test.message)) << test.name;
  }
}

TEST(ConfigVolume, LooksAsKubeletMakesIt) {
  const test::TempDir dir;
  ConfigVolume volume(dir.path() / "config");
  ASSERT_TRUE(volume.update({{"l20", "one"}, {"t4", "two"}}));
  const fs::path folder = volume.folder();
  EXPECT_EQ(read(folder / "l20"), "one");
  EXPECT_EQ(fs::read_symlink(folder / "l20"), "..data/l20");
  EXPECT_EQ(fs::read_symlink(folder / "..data"), "..revision_1");
}

TEST(ConfigVolume, AnUpdateSwapsEveryKeyAndCleansUp) {
  const test::TempDir dir;
  ConfigVolume volume(dir.path());
  ASSERT_TRUE(volume.update({{"a", "1"}, {"b", "1"}}));
  ASSERT_TRUE(volume.update({{"a", "2"}, {"c", "2"}}));
  EXPECT_EQ(read(dir.path() / "a"), "2");
  EXPECT_EQ(read(dir.path() / "c"), "2");
  EXPECT_THAT(*FsRoot().list(dir.path()), ElementsAre("..data", "..revision_2", "a", "c"));
}

}  // namespace
}  // namespace tranche::demo::config_map_test
