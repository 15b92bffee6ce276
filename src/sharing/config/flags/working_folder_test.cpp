#include "config/flags/working_folder.h"

#include <gtest/gtest.h>

#include "config/flags/flag_table.h"

namespace tranche::config::working_folder_test {
namespace {

using Flags = std::vector<FlagValue>;

TEST(WorkingFolder, AProgramsOwnFilesAreBelowIt) {
  const auto sources = from_folder(
      {.flags = {{"output-file", "gfd"}, {"config-file", "../c.yaml"}, {"driver-root", "run"}},
       .environment = {{"GFD_MACHINE_TYPE_FILE", "type"}, {"CONFIG_FILE", "/c"}, {"X", "y"}}},
      kUseFeatureDiscovery | kUseAgent, "/home/me");
  EXPECT_EQ(sources.flags, (Flags{{"output-file", "/home/me/gfd"},
                                  {"config-file", "/home/c.yaml"},
                                  {"driver-root", "run"}}));
  EXPECT_EQ(sources.environment.at("GFD_MACHINE_TYPE_FILE"), "/home/me/type");
  EXPECT_EQ(sources.environment.at("CONFIG_FILE"), "/c");
  EXPECT_EQ(sources.environment.at("X"), "y");
}

TEST(WorkingFolder, WhatIsEmptyOrAbsoluteStays) {
  const Flags flags = {{"output-file", ""}, {"config-file", "/a/../b"}};
  EXPECT_EQ(from_folder({.flags = {flags[0]}}, kUseFeatureDiscovery, "/home/me").flags,
            Flags{flags[0]});
  EXPECT_EQ(from_folder({.flags = {flags[1]}}, kUseFeatureDiscovery, "/home/me").flags,
            Flags{flags[1]});
}

}  // namespace
}  // namespace tranche::config::working_folder_test
