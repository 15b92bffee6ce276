#include "config/flags/flag_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/flags/tables.h"

namespace tranche::config {
namespace {

constexpr std::array kPrograms = {
    FlagProgram{kUseAgent, "agent", "Agent",
                "`tranche agent`, also called as `nvidia-device-plugin`"},
    FlagProgram{kDiscovery, "labels", "Feature labels",
                "`tranche labels`, also called as `gpu-feature-discovery`, which alone takes "
                "`--output` and `-o`"},
    FlagProgram{kUseConfigManager, "config-manager", "Configuration manager",
                "the program called as `config-manager`"},
    FlagProgram{kUseController, "controller", "Controller", "`tranche controller`"},
    FlagProgram{kUseCleanup, "cleanup", "Cleanup", "`tranche cleanup`"},
    FlagProgram{kUseArbiter, "arbiter", "Arbiter", "`tranche arbiter`"},
    FlagProgram{kUseMpsControl, "mps-control-daemon", "MPS control daemons",
                "`tranche mps-control-daemon`, also called as `mps-control-daemon`"},
    FlagProgram{kUseLimitSet, "limit set", "Limit set", "`tranche limit set`"},
    FlagProgram{kUseLimitGet, "limit get", "Limit get", "`tranche limit get`"},
    FlagProgram{kUseLimitReset, "limit reset", "Limit reset", "`tranche limit reset`"},
    FlagProgram{kUseLimitList, "limit list", "Limit list", "`tranche limit list`"},
    FlagProgram{kUseLimitPrune, "limit prune", "Limit prune", "`tranche limit prune`"},
    FlagProgram{kUseLayoutList, "layout list", "Layout list", "`tranche layout list`"},
    FlagProgram{kUseLayoutValidate, "layout validate", "Layout validate",
                "`tranche layout validate`"},
    FlagProgram{kUseLayoutPack, "layout pack", "Layout pack", "`tranche layout pack`"},
    FlagProgram{kUseLayoutShow, "layout show", "Layout show", "`tranche layout show`"},
    FlagProgram{kUseLayoutAssert, "layout assert", "Layout assert", "`tranche layout assert`"},
    FlagProgram{kUseLayoutApply, "layout apply", "Layout apply", "`tranche layout apply`"},
    FlagProgram{kUseLayoutExport, "layout export", "Layout export", "`tranche layout export`"},
    FlagProgram{kUseLayoutDefaults, "layout defaults", "Layout defaults",
                "`tranche layout defaults`"},
    FlagProgram{kUseLint, "lint", "Lint", "`tranche lint`"},
    FlagProgram{kUseDoctor, "doctor", "Doctor", "`tranche doctor`"},
    FlagProgram{kUseSnapshot, "snapshot", "Snapshot", "`tranche snapshot`"},
    FlagProgram{kUseIncidentList, "incident list", "Incident list", "`tranche incident list`"},
    FlagProgram{kUseIncidentShow, "incident show", "Incident show", "`tranche incident show`"},
    FlagProgram{kUseTop, "top", "Top", "`tranche top`"},
    FlagProgram{kUseReport, "report", "Report", "`tranche report`"},
    FlagProgram{kUseVersion, "version", "Version", "`tranche version`"},
};

// A new program's table is one line here. The order is that of the help.
constexpr std::array kTables = {
    device_plugin_flags,
    feature_discovery_flags,
    cluster_flags,
    agent_flags,
    config_manager_flags,
    controller_flags,
    cleanup_flags,
    limit_flags,
    layout_flags,
    lint_flags,
    doctor_flags,
    snapshot_flags,
    top_flags,
    report_flags,
    incident_flags,
    arbiter_flags,
    output_flags,
};

std::vector<FlagSpec> join() {
  std::vector<FlagSpec> joined;
  for (const auto table : kTables) {
    const auto flags = table();
    joined.insert(joined.end(), flags.begin(), flags.end());
  }
  return joined;
}

constexpr auto kEnvironmentOnly = std::to_array<EnvironmentOnly>({
    {"DP_DISABLE_HEALTHCHECKS",
     "XIDs that do not make a device unhealthy, by comma; all or xids: none does"},
    {"DP_ENABLE_HEALTHCHECKS",
     "XIDs that do in spite of the built-in and the disabled list, by comma; all: every XID"},
});

}  // namespace

std::span<const FlagProgram> flag_programs() { return kPrograms; }

std::span<const FlagSpec> flag_table() {
  static const std::vector<FlagSpec> table = join();
  return table;
}

std::span<const EnvironmentOnly> environment_only() { return kEnvironmentOnly; }

std::span<const std::string_view> aliases_of(const FlagSpec& spec, unsigned uses) {
  if ((spec.alias_uses & uses) == 0) return {};
  return spec.aliases;
}

const FlagSpec* find_flag(std::string_view name, unsigned uses) {
  const auto table = flag_table();
  const auto found = std::ranges::find_if(table, [&](const FlagSpec& spec) {
    if ((spec.uses & uses) == 0) return false;
    const auto aliases = aliases_of(spec, uses);
    return spec.name == name || std::ranges::find(aliases, name) != aliases.end();
  });
  return found == table.end() ? nullptr : &*found;
}

std::vector<std::string_view> flag_names(unsigned uses) {
  std::vector<std::string_view> names;
  for (const auto& spec : flag_table()) {
    if ((spec.uses & uses) == 0) continue;
    names.push_back(spec.name);
    const auto aliases = aliases_of(spec, uses);
    names.insert(names.end(), aliases.begin(), aliases.end());
  }
  return names;
}

std::string setting_key(const FlagSpec& spec) {
  return spec.field.empty() ? fmt::format("--{}", spec.name) : std::string(spec.field);
}

}  // namespace tranche::config
