#pragma once
// The options for making CDI specifications, from flags and configuration.

#include <set>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"

namespace tranche::cdi {

// --cdi-feature-flags.
struct Features {
  bool explicit_driver_libraries = false;
  bool no_additional_gids = false;
  bool no_ipc = false;
  bool operator==(const Features&) const = default;
};
// Parses NVIDIA's names. Names for libraries and machines that we do not use
// (disable-nvsandboxutils, disable-multiple-csv-devices) are silently accepted.
// enable-coherent-annotations and unknown names are ignored, with a line in `warnings`.
Features parse_features(std::span<const std::string> names, std::vector<std::string>& warnings);

// --cdi-disable-hooks. A name that is not one of NVIDIA's hooks disables nothing and adds a line to
// `warnings`.
std::set<std::string> parse_disabled_hooks(std::span<const std::string> names,
                                           std::vector<std::string>& warnings);

struct SpecOptions {
  config::DeviceIdStrategy id_strategy = config::DeviceIdStrategy::kUuid;
  std::string driver_root = "/";  // the folder of the driver's files on the host
  std::string dev_root = "/";     // the host folder whose /dev has the nodes
  std::string hook_program = "/usr/bin/nvidia-ctk";
  std::set<std::string> disabled_hooks;
  Features features;
  bool gdrcopy = false;
  bool gds = false;
  bool mofed = false;
  std::vector<int> imex_channels;  // the existing channels (cdi/imex.h)
  bool operator==(const SpecOptions&) const = default;
};
// The options set by the configuration. The caller sets features, disabled hooks and channels.
SpecOptions spec_options(const config::Config& config);

}  // namespace tranche::cdi
