#include "cdi/spec_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace tranche::cdi {

Features parse_features(std::span<const std::string> names, std::vector<std::string>& warnings) {
  Features features;
  for (const auto& name : names) {
    if (name == "enable-explicit-driver-libraries") {
      features.explicit_driver_libraries = true;
    } else if (name == "no-additional-gids-for-device-nodes") {
      features.no_additional_gids = true;
    } else if (name == "disable-ipc-discoverer") {
      features.no_ipc = true;
    } else if (name == "enable-coherent-annotations") {
      warnings.emplace_back(
          "CDI feature flag enable-coherent-annotations: not supported, no annotations are "
          "written");
    } else if (name != "disable-nvsandboxutils" && name != "disable-nvsandbox-utils" &&
               name != "disable-multiple-csv-devices") {
      warnings.push_back(fmt::format("CDI feature flag {}: unknown, ignored", name));
    }
  }
  return features;
}

std::set<std::string> parse_disabled_hooks(std::span<const std::string> names,
                                           std::vector<std::string>& warnings) {
  static constexpr std::array<std::string_view, 7> kHooks = {
      "all",
      "create-symlinks",
      "enable-cuda-compat",
      "update-ldcache",
      "chmod",  // of NVIDIA's generator elsewhere
      "disable-device-node-modification",
      "update-application-profile"};
  for (const auto& name : names) {
    if (std::ranges::find(kHooks, name) != kHooks.end()) continue;
    warnings.push_back(fmt::format("CDI hook {}: unknown, so nothing is left out for it", name));
  }
  return {names.begin(), names.end()};
}

SpecOptions spec_options(const config::Config& config) {
  SpecOptions options;
  options.id_strategy = config.flags.plugin.device_id_strategy;
  options.driver_root = config.flags.nvidia_driver_root;
  options.dev_root = config.flags.nvidia_dev_root;
  options.hook_program = config.flags.plugin.nvidia_ctk_path;
  options.gdrcopy = config.flags.gdrcopy_enabled;
  options.gds = config.flags.gds_enabled;
  options.mofed = config.flags.mofed_enabled;
  return options;
}

}  // namespace tranche::cdi
