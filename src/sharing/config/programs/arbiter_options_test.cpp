#include "config/programs/arbiter_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::config::arbiter_options_test {
namespace {

using testing::HasSubstr;

TEST(ArbiterOptions, Defaults) { EXPECT_EQ(load_arbiter_options({}).value(), ArbiterOptions{}); }

TEST(ArbiterOptions, FlagsAndEnvironment) {
  const auto options =
      load_arbiter_options({.flags = {{"tenants", "/t"}, {"log-level", "debug"}, {"check", "true"}},
                            .environment = {{"TRANCHE_TENANTS", "/not-this"},
                                            {"TRANCHE_ARBITER_STATE_DIR", "/s"},
                                            {"CONTAINER_DRIVER_ROOT", "/d"},
                                            {"TRANCHE_HOST_ROOT", "/h"},
                                            {"TRANCHE_CGROUP_ROOT", "/c"},
                                            {"TRANCHE_MPS_DIR", "/m"},
                                            {"TRANCHE_STALL_AFTER", "1m"},
                                            // The agent's, which has another folder.
                                            {"TRANCHE_STATE_DIR", "/agent"}}});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(*options, (ArbiterOptions{.tenants = "/t",
                                      .state_dir = "/s",
                                      .container_driver_root = "/d",
                                      .host_root = "/h",
                                      .cgroup_root = "/c",
                                      .mps_dir = "/m",
                                      .stall_after = std::chrono::minutes(1),
                                      .check = true,
                                      .log_level = LogLevel::kDebug}));
}

TEST(ArbiterOptions, EveryErrorAtOnce) {
  const auto options = load_arbiter_options({.flags = {{"tenants", "here"},
                                                       {"state-dir", ""},
                                                       {"cgroup-root", "sys"},
                                                       {"mps-dir", "mps"},
                                                       {"log-level", "loud"}}});
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().code, Code::kInvalidArgument);
  EXPECT_THAT(options.error().what, HasSubstr("--tenants: 'here' is no absolute path"));
  EXPECT_THAT(options.error().what, HasSubstr("--state-dir: '' is no absolute path"));
  EXPECT_THAT(options.error().what, HasSubstr("--cgroup-root: 'sys' is no absolute path"));
  EXPECT_THAT(options.error().what, HasSubstr("--mps-dir: 'mps' is no absolute path"));
  EXPECT_THAT(options.error().what, HasSubstr("'loud' is no log level"));
}

}  // namespace
}  // namespace tranche::config::arbiter_options_test
