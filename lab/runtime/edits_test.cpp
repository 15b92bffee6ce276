#include "lab/runtime/edits.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tranche::lab::edits_test {
namespace {

TEST(Apply, ToABareSpecification) {
  Json spec = {{"process", {{"args", {"sh"}}}}};
  apply({.devices = {{.path = "/dev/nvidia0", .major = 195, .minor = 0}},
         .mounts = {{.source = "/a", .destination = "/b"}},
         .env = {"X=1"},
         .create_container = {{.path = "/hook", .args = {"hook", "kernel"}}}},
        spec);
  const auto& device = spec["linux"]["devices"][0];
  EXPECT_EQ(device["path"], "/dev/nvidia0");
  EXPECT_EQ(device["type"], "c");
  EXPECT_EQ(device["fileMode"], 0666);
  const auto& rule = spec["linux"]["resources"]["devices"][0];
  EXPECT_EQ(
      rule,
      Json({{"allow", true}, {"type", "c"}, {"major", 195}, {"minor", 0}, {"access", "rwm"}}));
  EXPECT_EQ(spec["mounts"][0]["source"], "/a");
  EXPECT_EQ(spec["mounts"][0]["options"][0], "ro");
  EXPECT_EQ(spec["process"]["env"], Json({"X=1"}));
  EXPECT_EQ(spec["hooks"]["createContainer"][0]["args"], Json({"hook", "kernel"}));
  EXPECT_EQ(spec["process"]["args"], Json({"sh"}));
}

TEST(Apply, NothingTwice) {
  Json spec = {
      {"process", {{"env", {"XY=0", "X=0"}}}},
      {"mounts", {{{"destination", "/b"}, {"source", "/mine"}}}},
      {"linux", {{"devices", {{{"path", "/dev/nvidia0"}, {"minor", 7}}}}}},
  };
  apply({.devices = {{.path = "/dev/nvidia0", .major = 195, .minor = 0}},
         .mounts = {{.source = "/a", .destination = "/b"}},
         .env = {"X=1"}},
        spec);
  EXPECT_EQ(spec["process"]["env"], Json({"XY=0", "X=1"}));
  EXPECT_EQ(spec["mounts"].size(), 1U);
  EXPECT_EQ(spec["mounts"][0]["source"], "/mine");
  EXPECT_EQ(spec["linux"]["devices"].size(), 1U);
  // The device cgroup allows it all the same.
  EXPECT_EQ(spec["linux"]["resources"]["devices"].size(), 1U);
}

TEST(Apply, AWritableMount) {
  Json spec = {{"process", Json::object()}};
  apply({.mounts = {{.source = "/a", .destination = "/b", .read_only = false}}}, spec);
  EXPECT_EQ(spec["mounts"][0]["options"][0], "rw");
}

}  // namespace
}  // namespace tranche::lab::edits_test
