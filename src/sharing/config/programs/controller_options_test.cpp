#include "config/programs/controller_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::config::controller_options_test {
namespace {

using testing::HasSubstr;

struct Refused {
  const char* name;
  Sources sources;
  std::vector<const char*> said;
};

void PrintTo(const Refused& c, std::ostream* out) { *out << c.name; }

std::string name_of(const testing::TestParamInfo<Refused>& test) { return test.param.name; }

TEST(ControllerOptions, FlagsAndEnvironment) {
  const auto options = load_controller_options(
      {.flags = {{"config-map-out", "tranche-policy"},
                 {"leader-elect", "true"},
                 {"mps-root", "/run/nvidia/mps"},
                 {"agents", "tranche"}},
       .environment = {{"NAMESPACE", "gpu-operator"}, {"POD_NAME", "tranche-controller-x"}}});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(*options, (ControllerOptions{.ns = "gpu-operator",
                                         .config_map_out = "tranche-policy",
                                         .mps_root = "/run/nvidia/mps",
                                         .agents = "tranche",
                                         .leader_elect = true,
                                         .pod_name = "tranche-controller-x"}));
}

TEST(ControllerOptions, OneThatEvictsNeedsNoPolicy) {
  const auto options =
      load_controller_options({.flags = {{"namespace", "tranche"}},
                               .environment = {{"TRANCHE_EVICT_UNREGISTERED", "true"}}});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(*options, (ControllerOptions{.ns = "tranche", .evict_unregistered = true}));
  const auto both = load_controller_options(
      {.flags = {
           {"namespace", "tranche"}, {"config-map-out", "p"}, {"evict-unregistered", "true"}}});
  ASSERT_TRUE(both) << both.error().message();
  EXPECT_EQ(both->config_map_out, "p");
}

TEST(ControllerOptions, OneThatDrainsForMigNeedsNoPolicy) {
  const auto options = load_controller_options(
      {.flags = {{"namespace", "tranche"}}, .environment = {{"TRANCHE_MIG_CHANGES", "true"}}});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(*options, (ControllerOptions{.ns = "tranche", .mig_changes = true}));
}

TEST(ControllerOptions, OneWithPoolsNeedsNoPolicy) {
  const auto options = load_controller_options(
      {.flags = {{"namespace", "tranche"}, {"mig-pools", "tranche-mig-pools"}}});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(*options, (ControllerOptions{.ns = "tranche", .mig_pools = "tranche-mig-pools"}));
  EXPECT_FALSE(
      load_controller_options({.flags = {{"namespace", "tranche"}, {"mig-pools", "../pools"}}}));
}

TEST(ControllerOptions, OneThatServesThePageNeedsNoPolicy) {
  const auto options = load_controller_options({.flags = {{"namespace", "tranche"},
                                                          {"web-address", "127.0.0.1:9401"},
                                                          {"web-tls-dir", "/tls"},
                                                          {"web-token-file", "/token"},
                                                          {"cluster-name", "prod"},
                                                          {"agent-selector", "a=b"},
                                                          {"agent-port", "9500"},
                                                          {"agent-ca-file", "/ca.crt"},
                                                          {"agent-server-name", "agents"},
                                                          {"agent-token-file", "/agents"}}});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(*options, (ControllerOptions{.ns = "tranche",
                                         .web = WebOptions{.address = "127.0.0.1",
                                                           .port = 9401,
                                                           .tls_dir = "/tls",
                                                           .token_file = "/token",
                                                           .cluster = "prod",
                                                           .agent_selector = "a=b",
                                                           .agent_port = 9500,
                                                           .agent_ca_file = "/ca.crt",
                                                           .agent_server_name = "agents",
                                                           .agent_token_file = "/agents"}}));
  for (const auto& [flag, value] :
       std::initializer_list<FlagValue>{{"web-address", "9401"},
                                        {"agent-port", "0"},
                                        {"agent-port", "65536"},
                                        {"agent-server-name", "agents"}}) {
    EXPECT_FALSE(load_controller_options(
        {.flags = {{"namespace", "tranche"}, {"web-address", ":9401"}, {flag, value}}}))
        << flag << '=' << value;
  }
}

TEST(ControllerOptions, TheDriverOfSharesIsTheAgents) {
  const auto load = [](const std::string& driver) {
    return load_controller_options({.flags = {{"namespace", "tranche"},
                                              {"fractions", "true"},
                                              {"webhook-hosts", "w.tranche.svc"}},
                                    .environment = {{"TRANCHE_DRA_DRIVER_NAME", driver}}});
  };
  const auto options = load("gpu.example.com");
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->webhook->dra_driver_name, "gpu.example.com");
  const auto refused = load("gpu/example");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("'gpu/example' names no driver"));
}

TEST(ControllerOptions, OneWithAWebhookNeedsNoPolicy) {
  const auto defaults = load_controller_options(
      {.flags = {
           {"namespace", "tranche"}, {"fractions", "true"}, {"webhook-hosts", "w.tranche.svc"}}});
  ASSERT_TRUE(defaults) << defaults.error().message();
  EXPECT_EQ(*defaults, (ControllerOptions{.ns = "tranche",
                                          .webhook = WebhookOptions{.hosts = {"w.tranche.svc"}}}));
  const auto all =
      load_controller_options({.flags = {{"namespace", "tranche"},
                                         {"fractions", "true"},
                                         {"webhook-listen", "[::1]:0"},
                                         {"webhook-hosts", "w.tranche.svc,::1"},
                                         {"webhook-secret", "keys"},
                                         {"webhook-configuration", "hook"},
                                         {"webhook-certificate-life", "24h"},
                                         {"fractions-models", "Tesla T4=14917,NVIDIA L20=45476"},
                                         {"fractions-quota", "true"},
                                         {"fractions-quota-classes", "gpu-share,own"}}});
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->webhook, (WebhookOptions{.address = "::1",
                                          .port = 0,
                                          .hosts = {"w.tranche.svc", "::1"},
                                          .secret = "keys",
                                          .configuration = "hook",
                                          .certificate_life = std::chrono::hours(24),
                                          .models = {{"Tesla T4", Bytes::from_mib(14917)},
                                                     {"NVIDIA L20", Bytes::from_mib(45476)}},
                                          .counts_shares = true,
                                          .counted_classes = {"gpu-share", "own"}}));
}

class ControllerRefuses : public testing::TestWithParam<Refused> {};

TEST_P(ControllerRefuses, AndSaysWhatToDo) {
  const auto options = load_controller_options(GetParam().sources);
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().code, Code::kInvalidArgument);
  for (const auto* said : GetParam().said) EXPECT_THAT(options.error().what, HasSubstr(said));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ControllerRefuses,
    testing::Values(
        Refused{"Nothing", {}, {"give --namespace", "give --config-map-out"}},
        Refused{"NoName",
                {.flags = {{"namespace", "a/b"}, {"config-map-out", "Upper"}}},
                {"'a/b' is no name", "'Upper' is no name"}},
        Refused{"WebhookWithoutHosts",
                {.flags = {{"namespace", "a"}, {"fractions", "true"}}},
                {"give --webhook-hosts=SERVICE.NAMESPACE.svc"}},
        Refused{"CountingWithoutAWebhook",
                {.flags = {{"namespace", "a"}, {"fractions-quota", "true"}}},
                {"give --fractions too"}},
        Refused{"WebhookOddly",
                {.flags = {{"namespace", "a"},
                           {"fractions", "true"},
                           {"webhook-listen", "localhost:99999"},
                           {"webhook-hosts", "a,DNS:b"},
                           {"webhook-secret", "../s"},
                           {"fractions-quota-classes", "Gpu"},
                           {"fractions-models", "Tesla T4,=5,L20=0,L20=1Gi"},
                           {"webhook-certificate-life", "infinite"}}},
                {"'localhost:99999' is no address and port", "'DNS:b' is no name of a host",
                 "'../s' is no name", "'Gpu' is no name of a DeviceClass",
                 "'Tesla T4' is no model of GPU", "'=5' is no model", "'L20=0' is no model",
                 "'L20=1Gi' is no model", "write a duration such as 2160h"}},
        Refused{"LogLevel",
                {.flags = {{"namespace", "a"}, {"config-map-out", "b"}, {"log-level", "loud"}}},
                {"'loud' is no log level", "write debug, info, warn or error"}}),
    name_of);

TEST(CleanupOptions, WhatToDo) {
  using enum CleanupOptions::Mode;
  EXPECT_EQ(load_cleanup_options({}).value(), CleanupOptions{});
  EXPECT_EQ(load_cleanup_options({.flags = {{"stay", "true"}}}).value().mode, kStay);
  EXPECT_EQ(load_cleanup_options({.flags = {{"check", "true"}}}).value().mode, kCheck);
  const auto options = load_cleanup_options(
      {.flags = {{"daemonset", "gpu-operator/tranche"},
                 {"patch", R"({"spec":{}})"},
                 {"timeout", "3m"}},
       .environment = {{"TRANCHE_STATE_DIR", "/s"}, {"TRANCHE_RELEASE", "gpu/tranche"}}});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(*options, (CleanupOptions{.mode = kRollOut,
                                      .daemon_set_namespace = "gpu-operator",
                                      .daemon_set = "tranche",
                                      .patch = R"({"spec":{}})",
                                      .timeout = std::chrono::minutes(3),
                                      .state_dir = "/s",
                                      .release = "gpu/tranche"}));
}

class CleanupRefuses : public testing::TestWithParam<Refused> {};

TEST_P(CleanupRefuses, AndSaysWhatToDo) {
  const auto options = load_cleanup_options(GetParam().sources);
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().code, Code::kInvalidArgument);
  for (const auto* said : GetParam().said) EXPECT_THAT(options.error().what, HasSubstr(said));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, CleanupRefuses,
    testing::Values(
        Refused{"TwoThings",
                {.flags = {{"stay", "true"}, {"check", "true"}}},
                {"exclude each other", "give one of them"}},
        Refused{"DaemonSetWithoutNamespace",
                {.flags = {{"daemonset", "tranche"}, {"patch", "{}"}}},
                {"'tranche' names no DaemonSet", "write NAMESPACE/NAME"}},
        Refused{"DaemonSetWithoutPatch",
                {.flags = {{"daemonset", "a/b"}}},
                {"nothing to change the DaemonSet by", "give --patch"}},
        Refused{"PatchNoJson",
                {.flags = {{"daemonset", "a/b"}, {"patch", "{spec: 1}"}}},
                {"it is no JSON object", "strategic merge patch"}},
        Refused{"PatchNoObject",
                {.flags = {{"daemonset", "a/b"}, {"patch", "[1]"}}},
                {"it is no JSON object"}},
        Refused{"PatchWithoutDaemonSet", {.flags = {{"patch", "{}"}}}, {"give --daemonset too"}},
        Refused{"Endless", {.flags = {{"timeout", "infinite"}}}, {"write a duration"}},
        Refused{"NoDuration", {.flags = {{"timeout", "soon"}}}, {"timeout", "soon"}}),
    name_of);

}  // namespace
}  // namespace tranche::config::controller_options_test
