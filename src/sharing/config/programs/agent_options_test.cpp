#include "config/programs/agent_options.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tranche::config::agent_options_test {
namespace {

using namespace std::chrono_literals;

TEST(AgentOptions, DefaultsOfTheTableAreThoseOfTheStruct) {
  const auto agent = load_agent_options({});
  ASSERT_TRUE(agent) << agent.error().what;
  EXPECT_EQ(*agent, AgentOptions{});
  const auto labels = load_feature_discovery_options({});
  ASSERT_TRUE(labels) << labels.error().what;
  EXPECT_EQ(*labels, FeatureDiscoveryOptions{});
}

TEST(AgentOptions, FromFlagsAndEnvironment) {
  const auto options = load_agent_options({.flags = {{"config-file", "/config"},
                                                     {"config-name", "l20"},
                                                     {"strict-config", "true"},
                                                     {"kubelet-root", "/k"},
                                                     {"take-over", "true"},
                                                     {"labels", "false"},
                                                     {"state-dir", "/s"},
                                                     {"cdi-feature-flags", "a,b"},
                                                     {"cdi-feature-flags", "c"},
                                                     {"machine-interval", "2s"}},
                                           .environment = {{"CONFIG_FILE", "/other"},
                                                           {"TRANCHE_GRANTS_INTERVAL", "100ms"},
                                                           {"NODE_NAME", "node-1"},
                                                           {"TRANCHE_LOG_LEVEL", "debug"},
                                                           {"TRANCHE_RELEASE", "gpu/tranche"},
                                                           {"TRANCHE_HEALTH_RECOVERY", "never"},
                                                           {"TRANCHE_HOST_ROOT", "/host"},
                                                           {"CDI_DISABLE_HOOKS", "all"}}});
  ASSERT_TRUE(options) << options.error().what;
  const AgentOptions expected{.config_file = "/config",
                              .config_name = "l20",
                              .strict_config = true,
                              .kubelet_root = "/k",
                              .kubelet_socket = "/k/device-plugins/kubelet.sock",
                              .take_over = true,
                              .labels = LabelsMode::kOff,
                              .state_dir = "/s",
                              .release = "gpu/tranche",
                              .host_root = "/host",
                              .health_recovery = std::nullopt,
                              .machine_interval = 2s,
                              .grants_interval = 100ms,
                              .node_name = "node-1",
                              .log_level = LogLevel::kDebug,
                              .cdi_feature_flags = {"a", "b", "c"},
                              .cdi_disable_hooks = {"all"}};
  EXPECT_EQ(*options, expected);
}

TEST(AgentOptions, NoLibraryIsAWordAndNoPath) {
  const auto options = load_agent_options({.environment = {{"TRANCHE_LIMIT_LIBRARY", "none"}}});
  ASSERT_TRUE(options) << options.error().what;
  EXPECT_EQ(options->limit_library, "none");
}

// These programs are started by others, so a relative file is looked up below / in any folder.
TEST(AgentOptions, APathFromTheWorkingFolderIsRefused) {
  struct Case {
    const char* name;
    Sources sources;
    std::vector<std::string> errors;
  };
  const Case cases[] = {
      {"configuration",
       {.flags = {{"config-file", "config.yaml"}}},
       {"flag --config-file: 'config.yaml' is no absolute path; write it from /"}},
      {"layouts and driver",
       {.flags = {{"mig-config-file", "./layouts.yaml"}},
        .environment = {{"NVIDIA_DRIVER_ROOT", "run/nvidia/driver"}}},
       {"environment NVIDIA_DRIVER_ROOT: 'run/nvidia/driver' is no absolute path",
        "flag --mig-config-file: './layouts.yaml' is no absolute path"}},
      {"said once",
       {.flags = {{"mps-dir", "here"}}},
       {"flag --mps-dir: 'here' is no absolute path"}},
      {"trusted folders",
       {.environment = {{"TRANCHE_TRUSTED_FOLDERS", "/opt/a,opt/b"}}},
       {"environment TRANCHE_TRUSTED_FOLDERS: 'opt/b' is no absolute path"}},
  };
  for (const auto& one : cases) {
    const auto options = load_agent_options(one.sources);
    ASSERT_FALSE(options) << one.name;
    for (const auto& error : one.errors) {
      EXPECT_NE(options.error().what.find(error), std::string::npos)
          << one.name << ": " << options.error().what;
    }
    EXPECT_EQ(std::ranges::count(options.error().what, '\n') + 1,
              static_cast<std::ptrdiff_t>(one.errors.size()))
        << one.name << ": " << options.error().what;
  }
  EXPECT_FALSE(load_feature_discovery_options({.flags = {{"output-file", "gfd"}}}));
  EXPECT_TRUE(load_feature_discovery_options({.flags = {{"output-file", ""}}}))
      << "standard output";
  EXPECT_TRUE(load_agent_options({.flags = {{"kubeconfig", "config"}}}));
}

TEST(AgentOptions, KubeletSocketThatIsSetStays) {
  const auto moved = load_agent_options(
      {.flags = {{"kubelet-root", "/k"}, {"kubelet-socket", "/run/kubelet.sock"}}});
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->kubelet_socket, "/run/kubelet.sock");
  EXPECT_EQ(moved->device_plugins_dir(), "/k/device-plugins");
  const auto none = load_agent_options({.environment = {{"KUBELET_SOCKET", ""}}});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->kubelet_socket, "") << "empty: do not register";
}

TEST(AgentOptions, LabelsMode) {
  const std::pair<const char*, LabelsMode> modes[] = {
      {"auto", LabelsMode::kAuto}, {"on", LabelsMode::kOn},   {"true", LabelsMode::kOn},
      {"1", LabelsMode::kOn},      {"off", LabelsMode::kOff}, {"false", LabelsMode::kOff}};
  for (const auto& [text, mode] : modes) {
    EXPECT_EQ(load_agent_options({.flags = {{"labels", text}}})->labels, mode) << text;
  }
}

TEST(AgentOptions, MetricsAreServedWhereAnAddressSays) {
  EXPECT_FALSE(load_agent_options({})->metrics);
  const auto options = load_agent_options({.flags = {{"metrics-address", "[::1]:9400"},
                                                     {"metrics-names", "4.9"},
                                                     {"metrics-tls-dir", "/tls"},
                                                     {"metrics-token-file", "/token"}}});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->metrics, (MetricsOptions{.address = "::1",
                                              .port = 9400,
                                              .names = DcgmNames::k49,
                                              .tls_dir = "/tls",
                                              .token_file = "/token"}));
  for (const char* wrong : {"9400", "localhost:9400", ":70000", ":"}) {
    const auto refused = load_agent_options({.flags = {{"metrics-address", wrong}}});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_THAT(refused.error().message(), testing::HasSubstr("write one such as :9400")) << wrong;
  }
  EXPECT_FALSE(
      load_agent_options({.flags = {{"metrics-address", ":9400"}, {"metrics-names", "4.7"}}}));
}

TEST(AgentOptions, EmptyListsAreEmpty) {
  const auto options = load_agent_options({.environment = {{"CDI_DISABLE_HOOKS", ""}}});
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->cdi_disable_hooks.empty());
}

TEST(AgentOptions, EveryErrorAtOnce) {
  const auto options = load_agent_options({.flags = {{"labels", "maybe"},
                                                     {"health-recovery", "-5m"},
                                                     {"machine-interval", "infinite"},
                                                     {"grants-interval", "1ms"},
                                                     {"take-over", "yes"}},
                                           .environment = {{"TRANCHE_LOG_LEVEL", "loud"}}});
  ASSERT_FALSE(options);
  EXPECT_EQ(
      options.error().what,
      "invalid boolean value \"yes\" for -take-over: parse error; write true or false, without "
      "quotes\n"
      "flag --labels: 'maybe' is none of auto, on, off; write auto, on or off\n"
      "flag --health-recovery: '-5m' is no duration; write a duration such as 5m, or never\n"
      "flag --machine-interval: the hardware must be read again some time, and not all the "
      "time; write a duration of at least 10ms, such as 10s\n"
      "flag --grants-interval: grants must be looked at again some time, and not all the time; "
      "write a duration of at least 10ms, such as 30s\n"
      "environment TRANCHE_LOG_LEVEL: 'loud' is no log level; write debug, info, warn or "
      "error");
}

TEST(FeatureDiscoveryOptions, FromFlagsAndEnvironment) {
  const auto options =
      load_feature_discovery_options({.flags = {{"kube-api-qps", "2.5"}, {"namespace", "gpu"}},
                                      .environment = {{"GFD_CONFIG_FILE", "/gfd"},
                                                      {"CONFIG_FILE", "/plugin"},
                                                      {"KUBE_API_BURST", "7"},
                                                      {"POD_NAME", "pod"},
                                                      {"KUBECONFIG", "/kubeconfig"}}});
  ASSERT_TRUE(options) << options.error().what;
  const FeatureDiscoveryOptions expected{.config_file = "/gfd",
                                         .api_server = {.kubeconfig = "/kubeconfig"},
                                         .kube_api_qps = 2.5,
                                         .kube_api_burst = 7,
                                         .kube_namespace = "gpu",
                                         .pod_name = "pod"};
  EXPECT_EQ(*options, expected);
}

TEST(ConfigManagerOptions, RequiredFlags) {
  const auto options = load_config_manager_options({.environment = {{"NODE_NAME", ""}}});
  ASSERT_FALSE(options);
  EXPECT_EQ(
      options.error().what,
      "environment NODE_NAME: invalid <node-name>: must not be empty string; give --node-name\n"
      "--config-file-srcdir: invalid <config-file-srcdir>: must not be empty string; give "
      "--config-file-srcdir\n"
      "--config-file-dst: invalid <config-file-dst>: must not be empty string; give "
      "--config-file-dst");
}

TEST(ConfigManagerOptions, FromFlagsAndEnvironment) {
  Sources sources{.flags = {{"fallback-strategies", "named,single"}, {"signal", "15"}},
                  .environment = {{"NODE_NAME", "n"},
                                  {"CONFIG_FILE_SRCDIR", "/available-configs"},
                                  {"CONFIG_FILE_DST", "/config/config.yaml"},
                                  {"ONESHOT", "true"},
                                  {"SEND_SIGNAL", ""}}};
  const auto options = load_config_manager_options(sources);
  ASSERT_TRUE(options) << options.error().what;
  const ConfigManagerOptions expected{.oneshot = true,
                                      .node_name = "n",
                                      .source_dir = "/available-configs",
                                      .destination = "/config/config.yaml",
                                      .fallbacks = {Fallback::kNamed, Fallback::kSingle},
                                      .send_signal = false,
                                      .signal = 15};
  EXPECT_EQ(*options, expected);
  sources.flags = {{"fallback-strategies", "first"}};
  const auto refused = load_config_manager_options(sources);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what,
            "flag --fallback-strategies: unknown fallback strategy: first; write named, single or "
            "empty");
}

}  // namespace
}  // namespace tranche::config::agent_options_test
