#pragma once
// How CDI specifications are made, as flags and configuration say.

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
// (disable-nvsandboxutils, disable-multiple-csv-devices) are accepted in silence.
// enable-coherent-annotations and unknown names are ignored, with a line in `warnings`.
Features parse_features(std::span<const std::string> names, std::vector<std::string>& warnings);

// --cdi-disable-hooks. A name that is no hook of NVIDIA's leaves nothing out: a line in `warnings`.
std::set<std::string> parse_disabled_hooks(std::span<const std::string> names,
                                           std::vector<std::string>& warnings);

struct SpecOptions {
  config::DeviceIdStrategy id_strategy = config::DeviceIdStrategy::kUuid;
  std::string driver_root = "/";  // the folder of the driver's files on the host
  std::string dev_root = "/";     // the folder on the host whose /dev has the nodes
  std::string hook_program = "/usr/bin/nvidia-ctk";
  std::set<std::string> disabled_hooks;
  Features features;
  bool gdrcopy = false;
  bool gds = false;
  bool mofed = false;
  std::vector<int> imex_channels;  // the channels that exist (cdi/imex.h)
  bool operator==(const SpecOptions&) const = default;
};
// The options that the configuration sets. The caller sets features, disabled hooks and channels.
SpecOptions spec_options(const config::Config& config);

}  // namespace tranche::cdi
