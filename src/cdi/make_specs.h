#pragma once
// From an offer and the driver's files to CDI specification files, one per class. Pure.
//
// Kind and names are those of NVIDIA's device plugin (k8s.device-plugin.nvidia.com/<class>), so
// that a node's runtime finds the same devices whoever wrote the files.

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
// NVIDIA's names. Those for libraries and machines that we do not use (disable-nvsandboxutils,
// disable-multiple-csv-devices) are accepted in silence; enable-coherent-annotations and names that
// nobody knows are ignored, with a line in `warnings`.
Features parse_features(std::span<const std::string> names, std::vector<std::string>& warnings);

struct SpecOptions {
  config::DeviceIdStrategy id_strategy = config::DeviceIdStrategy::kUuid;
  std::string driver_root = "/";  // where the driver's files lie on the host
  std::string dev_root = "/";     // whose /dev has the device nodes on the host
  std::string hook_program = "/usr/bin/nvidia-ctk";
  std::set<std::string> disabled_hooks;
  Features features;
  bool gdrcopy = false;
  bool gds = false;
  bool mofed = false;
  std::vector<int> imex_channels;  // those that exist (cdi/imex.h)
};
// What the configuration says of these; features, disabled hooks and channels are the caller's.
SpecOptions spec_options(const config::Config& config);

struct SpecFile {
  std::string name;        // "k8s.device-plugin.nvidia.com-gpu.json"
  std::string class_name;  // "gpu"
  std::string json;
  bool operator==(const SpecFile&) const = default;
};

struct Specs {
  // gpu, imex-channel, gdrcopy, gds, mofed: those that are not empty.
  std::vector<SpecFile> files;
  // The last three of these that are wished for and not empty: offer::GrantOptions::cdi_modes.
  std::vector<std::string> modes;
  std::vector<std::string> warnings;  // a wish for a mode without its device nodes
};

// Devices: those of every resource of `offer`, each once, named by UUID or index. `machine` is what
// the offer was made of (display files are known by PCI address). A device whose node is not there
// (a GPU that fell off the bus) is listed by path alone.
Specs make_specs(const offer::Offer& offer, const gpu::Machine& machine, const DriverFiles& files,
                 const SpecOptions& options);

std::string spec_file_name(std::string_view class_name);
// Every class there is, in the order of Specs::files.
std::span<const std::string_view> classes();

}  // namespace tranche::cdi
