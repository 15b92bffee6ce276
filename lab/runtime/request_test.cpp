#include "lab/runtime/request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tranche::lab::request_test {
namespace {

Json spec_with(std::vector<std::string> env, const std::vector<std::string>& null_mounts = {}) {
  Json mounts = Json::array();
  for (const auto& destination : null_mounts) {
    mounts.push_back({{"source", "/dev/null"}, {"destination", destination}});
  }
  return {{"process", {{"env", env}}}, {"mounts", mounts}};
}

struct Case {
  const char* name;
  Json spec;
  std::optional<Request> expected;
};

class ReadRequest : public testing::TestWithParam<Case> {};

TEST_P(ReadRequest, Says) {
  const auto request = read_request(GetParam().spec);
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(*request, GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Containers, ReadRequest,
    testing::Values(
        Case{"unset", spec_with({"PATH=/bin"}), std::nullopt},
        Case{"empty", spec_with({"NVIDIA_VISIBLE_DEVICES="}), std::nullopt},
        Case{"void", spec_with({"NVIDIA_VISIBLE_DEVICES=void"}), std::nullopt},
        Case{"none", spec_with({"NVIDIA_VISIBLE_DEVICES=none"}), Request{}},
        Case{"all", spec_with({"NVIDIA_VISIBLE_DEVICES=all"}), Request{.all = true}},
        Case{"all_in_a_list", spec_with({"NVIDIA_VISIBLE_DEVICES=0,all"}), Request{.all = true}},
        Case{"indices", spec_with({"NVIDIA_VISIBLE_DEVICES=0,2"}), Request{.devices = {"0", "2"}}},
        Case{"uuids", spec_with({"NVIDIA_VISIBLE_DEVICES=GPU-a,MIG-b"}),
             Request{.devices = {"GPU-a", "MIG-b"}}},
        Case{"the_last_setting_counts",
             spec_with({"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES=1"}),
             Request{.devices = {"1"}}},
        Case{"mounts_win",
             spec_with({"NVIDIA_VISIBLE_DEVICES=all"},
                       {"/var/run/nvidia-container-devices/GPU-a", "/etc/nothing"}),
             Request{.devices = {"GPU-a"}}},
        Case{"mounts_alone", spec_with({}, {"/var/run/nvidia-container-devices/all"}),
             Request{.all = true}},
        Case{"mounts_announced_but_absent",
             spec_with({"NVIDIA_VISIBLE_DEVICES=/var/run/nvidia-container-devices"}), Request{}},
        Case{"utility_alone",
             spec_with({"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=utility"}),
             Request{.all = true, .compute = false}},
        Case{"graphics_brings_neither",
             spec_with({"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=graphics"}),
             Request{.all = true, .compute = false, .utility = false}},
        Case{"every_capability",
             spec_with({"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=video,all"}),
             Request{.all = true}}),
    [](const auto& one) { return one.param.name; });

TEST(ReadRequestErrors, AnUnknownCapabilityIsNamed) {
  const auto spec =
      spec_with({"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,fast"});
  const auto request = read_request(spec);
  ASSERT_FALSE(request);
  EXPECT_NE(request.error().what.find("'fast'"), std::string::npos) << request.error().what;
}

TEST(ReadRequestErrors, WhatIsNoSpecification) {
  EXPECT_FALSE(read_request(Json::array()));
  EXPECT_FALSE(read_request(Json::object()));
}

}  // namespace
}  // namespace tranche::lab::request_test
