#include "config/programs/doctor_options.h"

#include <gtest/gtest.h>

namespace tranche::config::doctor_options_test {
namespace {

TEST(DoctorOptions, OfTheAgentsEnvironment) {
  const auto options = load_doctor_options({.flags = {{"node", "true"}, {"output", "json"}},
                                            .environment = {{"TRANCHE_METRICS_ADDRESS", ":9400"},
                                                            {"TRANCHE_ARBITER_STATE_DIR", "/run/a"},
                                                            {"TRANCHE_STATE_DIR", "/s"},
                                                            {"NODE_NAME", "n1"}}});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(*options, (DoctorOptions{.output = OutputForm::kJson,
                                     .driver_root = "/driver-root",
                                     .host_root = "/",
                                     .kubelet_root = "/var/lib/kubelet",
                                     .state_dir = "/s",
                                     .arbiter_state_dir = "/run/a",
                                     .metrics_address = ":9400",
                                     .node_name = "n1",
                                     .api_server = {}}));
}

TEST(DoctorOptions, WhatToLookAtIsSaid) {
  const auto options = load_doctor_options({});
  ASSERT_FALSE(options);
  EXPECT_NE(options.error().message().find("--node"), std::string::npos);
}

}  // namespace
}  // namespace tranche::config::doctor_options_test
