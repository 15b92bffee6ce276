#pragma once
// Makes CDI specification files, one per class, from an offer and the driver's files. Pure.
//
// Kind and names are those of NVIDIA's device plugin (k8s.device-plugin.nvidia.com/<class>). So a
// node's runtime finds the same devices, whichever program wrote the files.

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/driver_files.h"
#include "config/config.h"
#include "gpu/machine.h"
#include "offer/grant_maker.h"
#include "offer/offer.h"

namespace tranche::cdi {

inline constexpr std::string_view kVendor = "k8s.device-plugin.nvidia.com";

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
};
// The options that the configuration sets. The caller sets features, disabled hooks and channels.
SpecOptions spec_options(const config::Config& config);

struct SpecFile {
  std::string name;        // "k8s.device-plugin.nvidia.com-gpu.json"
  std::string class_name;  // "gpu"
  std::string json;
  bool operator==(const SpecFile&) const = default;
};

struct Specs {
  // The classes that are not empty, of: gpu, imex-channel, gdrcopy, gds, mofed.
  std::vector<SpecFile> files;
  // Of the last three classes those that are asked for and not empty:
  // offer::GrantOptions::cdi_modes.
  std::vector<std::string> modes;
  std::vector<std::string> warnings;  // modes asked for whose device nodes are missing
};

// The devices are those of all resources of `offer`, each once, named by UUID or index. `machine`
// is the machine of the offer; it tells the PCI address, by which display files are found. A device
// whose node is missing (a GPU that fell off the bus) is listed by path alone; one
// whose nodes are unknown (it is unhealthy) is left out. kInvalidArgument: a runtime would refuse a
// file (cdi/validate.h).
Result<Specs> make_specs(const offer::Offer& offer, const gpu::Machine& machine,
                         const DriverFiles& files, const SpecOptions& options);

// kFailedPrecondition: CDI files would name the hook program, and the configuration names none.
Result<void> check_hook_program(const config::Config& config,
                                std::span<const std::string> disabled_hooks);

std::string spec_file_name(std::string_view class_name);
// All classes, in the order of Specs::files.
std::span<const std::string_view> classes();

}  // namespace tranche::cdi
