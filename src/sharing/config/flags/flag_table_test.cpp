#include "config/flags/flag_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "base/log.h"
#include "config/config.h"
#include "config/flags/values.h"

namespace tranche::config::flag_table_test {
namespace {

TEST(FlagTable, NamesAreUniqueInEveryProgram) {
  for (const auto& program : flag_programs()) {
    const auto names = flag_names(program.use);
    EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size()) << program.name;
  }
}

TEST(FlagTable, EveryDefaultIsOfItsType) {
  for (const auto& spec : flag_table()) {
    EXPECT_NO_THROW(value_from_default(spec.type, spec.default_text)) << spec.name;
    EXPECT_FALSE(spec.help.empty()) << spec.name;
  }
}

TEST(FlagTable, EveryFlagHasAListedProgram) {
  unsigned listed = 0;
  for (const auto& program : flag_programs()) {
    EXPECT_EQ(listed & program.use, 0U) << program.name << " is listed twice";
    listed |= program.use;
  }
  for (const auto& spec : flag_table()) {
    EXPECT_NE(spec.uses, 0U) << spec.name;
    EXPECT_EQ(spec.uses & ~listed, 0U) << spec.name;
  }
}

TEST(FlagTable, DefaultsAreAmongTheChoices) {
  for (const auto& spec : flag_table()) {
    if (spec.choices.empty() || spec.default_text.empty()) continue;
    for (const auto part : std::views::split(spec.default_text, ',')) {
      const std::string_view item(part.begin(), part.end());
      EXPECT_NE(std::ranges::find(spec.choices, item), spec.choices.end())
          << spec.name << ": " << item;
    }
  }
}

TEST(FlagTable, ChoicesAreThoseOfTheConfiguration) {
  const auto all_read = [](std::string_view flag, auto read) {
    const auto choices = find_flag(flag)->choices;
    EXPECT_FALSE(choices.empty()) << flag;
    for (const auto choice : choices) EXPECT_TRUE(read(choice)) << flag << " " << choice;
  };
  all_read("mig-strategy", mig_strategy_of);
  all_read("device-list-strategy", device_list_strategy_of);
  all_read("device-id-strategy", device_id_strategy_of);
  all_read("shared-devices-allocation-policy", allocation_policy_of);
  all_read("device-discovery-strategy", discovery_strategy_of);
  all_read("class", priority_of);
  all_read("log-level", parse_log_level);
}

TEST(FlagTable, OnlyStringsArePaths) {
  for (const auto& spec : flag_table()) {
    if (spec.path == PathKind::kNone) {
      EXPECT_EQ(spec.path_word, "") << spec.name;
      continue;
    }
    EXPECT_EQ(spec.type, FlagType::kString) << spec.name;
    EXPECT_TRUE(spec.choices.empty()) << spec.name;
  }
}

TEST(FlagTable, RowsOfOneFieldAgree) {
  std::map<std::string_view, const FlagSpec*> first;
  for (const auto& spec : flag_table()) {
    if (spec.field.empty()) continue;
    const auto* other = first.emplace(spec.field, &spec).first->second;
    EXPECT_EQ(spec.type, other->type) << spec.field;
    EXPECT_EQ(spec.default_text, other->default_text) << spec.field;
  }
}

TEST(FlagTable, AliasesLeadToTheSameFlag) {
  const std::pair<const char*, const char*> aliases[] = {
      {"nvidia-driver-root", "driver-root"},
      {"nvidia-dev-root", "dev-root"},
      {"nvidia-ctk-path", "nvidia-cdi-hook-path"},
      {"container-driver-root", "driver-root-ctr-path"},
      {"output", "output-file"},
      {"o", "output-file"},
  };
  for (const auto& [alias, name] : aliases) {
    ASSERT_NE(find_flag(alias), nullptr) << alias;
    EXPECT_EQ(find_flag(alias), find_flag(name)) << alias;
  }
  EXPECT_EQ(find_flag("nothing"), nullptr);
}

struct Published {
  const char* flag;
  unsigned use;
  std::vector<std::string_view> environment;
};

// NVIDIA's flags and environment names, program by program.
TEST(FlagTable, HasEveryPublishedFlag) {
  const Published flags[] = {
      {"mig-strategy", kUseAgent, {"MIG_STRATEGY"}},
      {"fail-on-init-error", kUseAgent, {"FAIL_ON_INIT_ERROR"}},
      {"driver-root", kUseAgent, {"NVIDIA_DRIVER_ROOT"}},
      {"dev-root", kUseAgent, {"NVIDIA_DEV_ROOT"}},
      {"pass-device-specs", kUseAgent, {"PASS_DEVICE_SPECS"}},
      {"device-list-strategy", kUseAgent, {"DEVICE_LIST_STRATEGY"}},
      {"device-id-strategy", kUseAgent, {"DEVICE_ID_STRATEGY"}},
      {"gdrcopy-enabled", kUseAgent, {"GDRCOPY_ENABLED"}},
      {"gds-enabled", kUseAgent, {"GDS_ENABLED"}},
      {"mofed-enabled", kUseAgent, {"MOFED_ENABLED"}},
      {"cdi-annotation-prefix", kUseAgent, {"CDI_ANNOTATION_PREFIX"}},
      {"nvidia-cdi-hook-path", kUseAgent, {"NVIDIA_CDI_HOOK_PATH", "NVIDIA_CTK_PATH"}},
      {"driver-root-ctr-path", kUseAgent, {"DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"}},
      {"mps-root", kUseAgent, {"MPS_ROOT"}},
      {"shared-devices-allocation-policy", kUseAgent, {"SHARED_DEVICES_ALLOCATION_POLICY"}},
      {"device-discovery-strategy", kUseAgent, {"DEVICE_DISCOVERY_STRATEGY"}},
      {"imex-channel-ids", kUseAgent, {"IMEX_CHANNEL_IDS"}},
      {"imex-required", kUseAgent, {"IMEX_REQUIRED"}},
      {"kubelet-socket", kUseAgent, {"KUBELET_SOCKET"}},
      {"config-file", kUseAgent, {"CONFIG_FILE"}},
      {"cdi-feature-flags", kUseAgent, {"CDI_FEATURE_FLAGS"}},
      {"cdi-disable-hooks", kUseAgent, {"CDI_DISABLE_HOOKS"}},
      {"mig-strategy", kUseFeatureDiscovery, {"GFD_MIG_STRATEGY", "MIG_STRATEGY"}},
      {"fail-on-init-error",
       kUseFeatureDiscovery,
       {"GFD_FAIL_ON_INIT_ERROR", "FAIL_ON_INIT_ERROR"}},
      {"oneshot", kUseFeatureDiscovery, {"GFD_ONESHOT"}},
      {"no-timestamp", kUseFeatureDiscovery, {"GFD_NO_TIMESTAMP"}},
      {"sleep-interval", kUseFeatureDiscovery, {"GFD_SLEEP_INTERVAL"}},
      {"output-file", kUseFeatureDiscovery, {"GFD_OUTPUT_FILE"}},
      {"machine-type-file", kUseFeatureDiscovery, {"GFD_MACHINE_TYPE_FILE"}},
      {"config-file", kUseFeatureDiscovery, {"GFD_CONFIG_FILE", "CONFIG_FILE"}},
      {"use-node-feature-api",
       kUseFeatureDiscovery,
       {"GFD_USE_NODE_FEATURE_API", "USE_NODE_FEATURE_API"}},
      {"device-discovery-strategy", kUseFeatureDiscovery, {"DEVICE_DISCOVERY_STRATEGY"}},
      {"driver-root-ctr-path",
       kUseFeatureDiscovery,
       {"DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"}},
      {"kubeconfig", kUseFeatureDiscovery, {"KUBECONFIG"}},
      {"kube-api-qps", kUseFeatureDiscovery, {"KUBE_API_QPS"}},
      {"kube-api-burst", kUseFeatureDiscovery, {"KUBE_API_BURST"}},
      {"namespace", kUseFeatureDiscovery, {"NAMESPACE"}},
      {"node-name", kUseFeatureDiscovery, {"NODE_NAME"}},
      {"pod-name", kUseFeatureDiscovery, {"POD_NAME"}},
      {"oneshot", kUseConfigManager, {"ONESHOT"}},
      {"kubeconfig", kUseConfigManager, {"KUBECONFIG"}},
      {"node-name", kUseConfigManager, {"NODE_NAME"}},
      {"node-label", kUseConfigManager, {"NODE_LABEL"}},
      {"config-file-srcdir", kUseConfigManager, {"CONFIG_FILE_SRCDIR"}},
      {"config-file-dst", kUseConfigManager, {"CONFIG_FILE_DST"}},
      {"default-config", kUseConfigManager, {"DEFAULT_CONFIG"}},
      {"fallback-strategies", kUseConfigManager, {"FALLBACK_STRATEGIES"}},
      {"send-signal", kUseConfigManager, {"SEND_SIGNAL"}},
      {"signal", kUseConfigManager, {"SIGNAL"}},
      {"process-to-signal", kUseConfigManager, {"PROCESS_TO_SIGNAL"}},
  };
  for (const auto& flag : flags) {
    const auto* spec = find_flag(flag.flag, flag.use);
    ASSERT_NE(spec, nullptr) << flag.flag << " of " << flag.use;
    EXPECT_EQ(std::vector(spec->environment.begin(), spec->environment.end()), flag.environment)
        << flag.flag;
  }
}

}  // namespace
}  // namespace tranche::config::flag_table_test
