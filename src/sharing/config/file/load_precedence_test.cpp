// Which source wins, and what counts as set: flag > environment > file > default.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/file/load.h"
#include "config/flags/flag_table.h"

namespace tranche::config::load_precedence_test {
namespace {

struct Case {
  const char* name;
  Sources sources;
  // The outcome as "mig strategy/fail on init error/list strategies/sleep seconds/imex ids", or the
  // whole error.
  std::string expected;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::string outcome(const Result<Loaded>& loaded) {
  if (!loaded) return loaded.error().what;
  const auto& flags = loaded->config.flags;
  std::string text(to_string(flags.mig_strategy));
  text += flags.fail_on_init_error ? "/true" : "/false";
  for (const auto strategy : flags.plugin.device_list_strategies) {
    text += "/" + std::string(to_string(strategy));
  }
  const auto sleep = flags.gfd.sleep_interval;
  text += "/" + (sleep ? std::to_string(std::chrono::round<std::chrono::seconds>(*sleep).count())
                       : std::string("infinite"));
  for (const auto id : loaded->config.imex.channel_ids) text += "/" + std::to_string(id);
  return text;
}

class Precedence : public testing::TestWithParam<Case> {};

TEST_P(Precedence, Decides) { EXPECT_EQ(outcome(load(GetParam().sources)), GetParam().expected); }

constexpr const char* kFile = "flags: {migStrategy: single, failOnInitError: false}";

INSTANTIATE_TEST_SUITE_P(
    Sources, Precedence,
    testing::Values(
        Case{"defaults", {}, "none/true/envvar/60"},
        Case{"file", {.file_text = kFile, .file_name = "f"}, "single/false/envvar/60"},
        Case{"environment_over_file",
             {.file_text = kFile,
              .file_name = "f",
              .environment = {{"MIG_STRATEGY", "mixed"}, {"FAIL_ON_INIT_ERROR", "1"}}},
             "mixed/true/envvar/60"},
        Case{"flag_over_environment",
             {.file_text = kFile,
              .file_name = "f",
              .flags = {{"mig-strategy", "none"}},
              .environment = {{"MIG_STRATEGY", "mixed"}}},
             "none/false/envvar/60"},
        Case{"field_by_field",
             {.file_text = kFile, .file_name = "f", .flags = {{"mig-strategy", "mixed"}}},
             "mixed/false/envvar/60"},
        Case{"null_in_file_is_unset",
             {.file_text = "flags: {migStrategy: null}", .file_name = "f"},
             "none/true/envvar/60"},
        Case{"last_flag_counts",
             {.flags = {{"mig-strategy", "single"}, {"mig-strategy", "mixed"}}},
             "mixed/true/envvar/60"},
        Case{"list_flag_gathers",
             {.flags = {{"device-list-strategy", "envvar, cdi-cri"},
                        {"device-list-strategy", "volume-mounts"}}},
             "none/true/envvar/cdi-cri/volume-mounts/60"},
        Case{"list_from_environment",
             {.environment = {{"DEVICE_LIST_STRATEGY", "cdi-annotations,cdi-cri"}}},
             "none/true/cdi-annotations/cdi-cri/60"},
        Case{"list_flag_replaces_the_environment",
             {.flags = {{"device-list-strategy", "cdi-cri"}},
              .environment = {{"DEVICE_LIST_STRATEGY", "envvar"}}},
             "none/true/cdi-cri/60"},
        Case{"imex_flag", {.flags = {{"imex-channel-ids", "0"}}}, "none/true/envvar/60/0"},
        Case{"sleep_infinite",
             {.flags = {{"sleep-interval", "infinite"}}},
             "none/true/envvar/infinite"},
        Case{"agent_ignores_gfd_names",
             {.environment = {{"GFD_MIG_STRATEGY", "mixed"}}},
             "none/true/envvar/60"},
        Case{"gfd_prefers_its_own_name",
             {.program = Program::kFeatureDiscovery,
              .environment = {{"GFD_MIG_STRATEGY", "mixed"}, {"MIG_STRATEGY", "single"}}},
             "mixed/true/envvar/60"},
        Case{"gfd_takes_the_common_name",
             {.program = Program::kFeatureDiscovery, .environment = {{"MIG_STRATEGY", "single"}}},
             "single/true/envvar/60"},
        Case{"gfd_judges_little",
             {.program = Program::kFeatureDiscovery,
              .file_text = "flags: {plugin: {deviceIDStrategy: x, deviceListStrategy: z}}\n"
                           "imex: {channelIDs: [5]}\n",
              .file_name = "f"},
             "none/true/60/5"}),
    [](const auto& test) { return std::string(test.param.name); });

INSTANTIATE_TEST_SUITE_P(
    SetButEmpty, Precedence,
    testing::Values(
        Case{"string_is_set",
             {.environment = {{"MIG_STRATEGY", ""}}},
             "unknown MIG strategy:  (environment MIG_STRATEGY); write none, single or mixed"},
        Case{"list_is_one_empty_string",
             {.environment = {{"DEVICE_LIST_STRATEGY", ""}}},
             "invalid --device-list-strategy option: invalid strategy:  (environment "
             "DEVICE_LIST_STRATEGY); write one or more of envvar, volume-mounts, cdi-annotations, "
             "cdi-cri"},
        Case{
            "bool_is_false", {.environment = {{"FAIL_ON_INIT_ERROR", ""}}}, "none/false/envvar/60"},
        Case{"bool_is_false_over_the_file",
             {.file_text = "flags: {failOnInitError: true}",
              .file_name = "f",
              .environment = {{"FAIL_ON_INIT_ERROR", ""}}},
             "none/false/envvar/60"},
        Case{"duration_keeps_the_default",
             {.environment = {{"GFD_SLEEP_INTERVAL", ""}}},
             "none/true/envvar/60"},
        Case{"ints_keep_the_file",
             {.file_text = "imex: {channelIDs: [0]}",
              .file_name = "f",
              .environment = {{"IMEX_CHANNEL_IDS", ""}}},
             "none/true/envvar/60/0"},
        Case{"empty_first_name_hides_the_second",
             {.program = Program::kFeatureDiscovery,
              .environment = {{"GFD_FAIL_ON_INIT_ERROR", ""}, {"FAIL_ON_INIT_ERROR", "true"}}},
             "none/false/envvar/60"}),
    [](const auto& test) { return std::string(test.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Unreadable, Precedence,
    testing::Values(
        Case{"bool_flag",
             {.flags = {{"fail-on-init-error", "yes"}}},
             "invalid boolean value \"yes\" for -fail-on-init-error: parse error; write true or "
             "false, without quotes"},
        Case{"bool_environment",
             {.environment = {{"GDS_ENABLED", "on"}}},
             "could not parse \"on\" as bool value from environment variable \"GDS_ENABLED\" for "
             "flag gds-enabled: strconv.ParseBool: parsing \"on\": invalid syntax; write true or "
             "false, without quotes"},
        Case{"duration_environment",
             {.program = Program::kFeatureDiscovery, .environment = {{"GFD_SLEEP_INTERVAL", "x"}}},
             "could not parse \"x\" from environment variable \"GFD_SLEEP_INTERVAL\" as value for "
             "flag sleep-interval: time: invalid duration \"x\"; write a duration such as 60s or "
             "1h30m, or infinite"},
        Case{"duration",
             {.flags = {{"sleep-interval", "60"}}},
             "invalid value \"60\" for flag -sleep-interval: time: invalid duration \"60\"; "
             "write a duration such as 60s or 1h30m, or infinite"},
        Case{"ints",
             {.flags = {{"imex-channel-ids", "0,x"}}},
             "invalid value \"0,x\" for flag -imex-channel-ids: strconv.ParseInt: parsing \"x\": "
             "invalid syntax; write a list of whole numbers"},
        Case{"value_of_a_flag",
             {.flags = {{"device-id-strategy", "pci"}}},
             "invalid --device-id-strategy option: pci (flag --device-id-strategy); write uuid or "
             "index"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Precedence, UseNodeFeatureApiIsOnForFeatureDiscoveryAlone) {
  EXPECT_FALSE(load({})->config.flags.use_node_feature_api);
  EXPECT_TRUE(load({.program = Program::kFeatureDiscovery})->config.flags.use_node_feature_api);
  EXPECT_FALSE(
      load({.program = Program::kFeatureDiscovery, .environment = {{"USE_NODE_FEATURE_API", ""}}})
          ->config.flags.use_node_feature_api);
}

TEST(Precedence, WhatTheFileSaysInVainIsTold) {
  constexpr const char* kNeither = "flags:\n  migStrategy: single\n  failOnInitError: false\n";
  const auto warnings = [](const Sources& sources) {
    const auto loaded = load(sources);
    std::string lines;
    for (const auto& warning : loaded->warnings) lines += warning.message + "\n";
    return lines;
  };
  EXPECT_EQ(warnings({.file_text = kNeither,
                      .file_name = "f",
                      .flags = {{"fail-on-init-error", "true"}},
                      .environment = {{"MIG_STRATEGY", "mixed"}}}),
            "f:2: flags.migStrategy: has no effect, for environment MIG_STRATEGY has another value "
            "and wins; remove one of the two\n"
            "f:3: flags.failOnInitError: has no effect, for flag --fail-on-init-error has another "
            "value and wins; remove one of the two\n");
  EXPECT_EQ(warnings({.file_text = kNeither,
                      .file_name = "f",
                      .flags = {{"mig-strategy", "single"}},
                      .environment = {{"FAIL_ON_INIT_ERROR", "0"}}}),
            "")
      << "the same value is said twice";
}

// A deliberate difference: without any source both programs have Config{}.
TEST(Precedence, DefaultsOfTheTableAreThoseOfConfig) {
  EXPECT_EQ(load({})->config, Config{});
  Config labels;
  labels.flags.use_node_feature_api = true;
  EXPECT_EQ(load({.program = Program::kFeatureDiscovery})->config, labels);
}

TEST(OnMachine, CdiNeedsNvml) {
  Config config;
  EXPECT_TRUE(validate_on_machine(config, {.nvml_loadable = false}));
  config.flags.plugin.device_list_strategies = {DeviceListStrategy::kCdiCri};
  EXPECT_TRUE(validate_on_machine(config, {.nvml_loadable = true}));
  const auto refused = validate_on_machine(config, {.nvml_loadable = false});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what,
            "CDI --device-list-strategy options are only supported on NVML-based systems");
}

// For both programs, before they read the machine.
TEST(Load, StrategiesToComeAreRefused) {
  for (const auto* strategy : {"tegra", "vfio"}) {
    const auto refused = load({.program = Program::kFeatureDiscovery,
                               .flags = {{"device-discovery-strategy", strategy}}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().what.find(fmt::format("device discovery strategy {} is not supported "
                                                    "yet (flag --device-discovery-strategy); write",
                                                    strategy)),
              0U)
        << refused.error().what;
  }
}

TEST(Load, CdiFilesNeedAHookProgramUnlessHooksAreOff) {
  Sources sources{.environment = {{"NVIDIA_CDI_HOOK_PATH", ""}}};
  EXPECT_TRUE(load(sources)) << "no CDI files";
  sources.flags = {{"device-list-strategy", "cdi-cri"}};
  const auto refused = load(sources);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(refused.error().what.find("invalid --nvidia-cdi-hook-path option: it is empty, and CDI "
                                      "files name the hook program (environment "
                                      "NVIDIA_CDI_HOOK_PATH); name it "),
            0U)
      << refused.error().what;
  sources.flags.push_back({"cdi-disable-hooks", "all"});
  EXPECT_TRUE(load(sources));
}

TEST(StartupFailure, CarriesNvidiasChainOfCauses) {
  const Sources broken{.file_text = "version: v9", .file_name = "/config/config.yaml"};
  EXPECT_EQ(startup_failure(broken, load(broken).error()),
            "error starting plugins: unable to load config: unable to finalize config: unable to "
            "parse config file: error parsing config file: unknown version: v9 "
            "(/config/config.yaml:1: version); write v1");
  const Sources typed{.file_text = "flags: 5", .file_name = "/config/config.yaml"};
  EXPECT_EQ(startup_failure(typed, load(typed).error()),
            "error starting plugins: unable to load config: unable to finalize config: unable to "
            "parse config file: error parsing config file: unmarshal error: error unmarshaling "
            "JSON: while decoding JSON: /config/config.yaml:1: flags: cannot unmarshal number into "
            "a mapping, found '5'; write keys and values under it");
  const Sources torn{.file_text = "flags: [", .file_name = "/config/config.yaml"};
  EXPECT_TRUE(startup_failure(torn, load(torn).error())
                  .starts_with("error starting plugins: unable to load config: unable to finalize "
                               "config: unable to parse config file: error parsing config file: "
                               "unmarshal error: error converting YAML to JSON: yaml: "
                               "/config/config.yaml:"));
  const Sources wrong{.file_name = "", .environment = {{"MIG_STRATEGY", "x"}}};
  EXPECT_EQ(
      startup_failure(wrong, load(wrong).error()),
      "error starting plugins: unable to validate flags: unknown MIG strategy: x (environment "
      "MIG_STRATEGY); write none, single or mixed");
  auto discovery = wrong;
  discovery.program = Program::kFeatureDiscovery;
  EXPECT_EQ(startup_failure(discovery, load(discovery).error()),
            "unable to load config: unable to validate flags: unknown MIG strategy: x (environment "
            "MIG_STRATEGY); write none, single or mixed");
  const Sources flag{.file_name = "f", .flags = {{"gds-enabled", "x"}}};
  EXPECT_EQ(startup_failure(flag, load(flag).error()),
            "invalid boolean value \"x\" for -gds-enabled: parse error; write true or false, "
            "without quotes");
  const Error missing{.code = Code::kNotFound, .what = "configuration /c: No such file"};
  EXPECT_EQ(startup_failure({.file_name = "/c"}, missing),
            "error starting plugins: unable to load config: unable to finalize config: unable to "
            "parse config file: error opening config file: configuration /c: No such file");
}

}  // namespace
}  // namespace tranche::config::load_precedence_test
