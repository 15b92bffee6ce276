#include "kubelet/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace tranche::kubelet::checkpoint_test {
namespace {

using Ids = std::vector<std::string>;

constexpr const char* kOfToday =
    R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"main",)"
    R"("ResourceName":"nvidia.com/gpu","DeviceIDs":{"-1":["GPU-a"],"0":["GPU-b"]},)"
    R"("AllocResp":"Cg=="}],"RegisteredDevices":{"nvidia.com/gpu":["GPU-a"]}},"Checksum":7})";

TEST(Checkpoint, NamesTheIdsOfEachContainer) {
  const auto held = parse_checkpoint(kOfToday).value();
  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(held[0].container, "main");
  EXPECT_EQ(held[0].resource, "nvidia.com/gpu");
  EXPECT_EQ(held[0].ids, (Ids{"GPU-a", "GPU-b"}));
}

TEST(Checkpoint, AnOlderKubeletsListOfIdsIsRead) {
  const auto held =
      parse_checkpoint(R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c",)"
                       R"("ResourceName":"r/x","DeviceIDs":["1"],"AllocResp":""}]}})");
  EXPECT_EQ(held.value()[0].ids, Ids{"1"});
}

TEST(Checkpoint, NoEntriesIsGosNull) {
  const auto none =
      parse_checkpoint(R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1})");
  ASSERT_TRUE(none) << none.error().what;
  EXPECT_TRUE(none->empty());
}

TEST(Checkpoint, WhatCannotBeReadIsNotEmpty) {
  for (const auto* text : {
           "",
           "{",
           "{}",
           R"({"Data":{}})",
           R"({"Data":{"PodDeviceEntries":{}}})",
           R"({"Data":{"PodDeviceEntries":[{"ResourceName":"r/x"}]}})",
           R"({"Data":{"PodDeviceEntries":[{"DeviceIDs":{"0":["a"]}}]}})",
           R"({"Data":{"PodDeviceEntries":[{"ResourceName":"r/x","DeviceIDs":{"0":[1]}}]}})",
           R"({"Data":{"PodDeviceEntries":[{"ResourceName":"r/x","DeviceIDs":{"0":"a"}}]}})",
       }) {
    EXPECT_FALSE(parse_checkpoint(text)) << text;
  }
}

TEST(Checkpoint, AKubeletWithoutOneHoldsNothing) {
  const test::TempDir dir;
  const auto file = dir.path() / "kubelet_internal_checkpoint";
  const auto none = read_checkpoint(file);
  ASSERT_TRUE(none) << none.error().what;
  EXPECT_TRUE(none->empty());
  EXPECT_FALSE(read_checkpoint(dir.path() / "not mounted" / "kubelet_internal_checkpoint"));
  std::filesystem::create_directory(file);
  EXPECT_FALSE(read_checkpoint(file)) << "a file that cannot be read";
}

TEST(Checkpoint, ATornOneIsAnError) {
  const test::TempDir dir;
  const auto file = dir.path() / "kubelet_internal_checkpoint";
  std::ofstream(file) << std::string(kOfToday).substr(0, 60);
  EXPECT_FALSE(read_checkpoint(file));
  std::ofstream(file) << kOfToday;
  EXPECT_EQ(read_checkpoint(file).value().size(), 1U);
}

}  // namespace
}  // namespace tranche::kubelet::checkpoint_test
