#pragma once
// Makes CDI specification files, one per class, from an offer and the driver's files. Pure.
//
// Kind and names are those of NVIDIA's device plugin (k8s.device-plugin.nvidia.com/<class>). So a
// node's runtime finds the same devices, whichever program wrote the files.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/driver_files.h"
#include "cdi/spec_options.h"
#include "config/config.h"
#include "gpu/machine.h"
#include "offer/grant_maker.h"
#include "offer/offer.h"

namespace tranche::cdi {

inline constexpr std::string_view kVendor = "k8s.device-plugin.nvidia.com";

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
  // Device nodes that are missing: of devices, of modes that are asked for.
  std::vector<std::string> warnings;
};

// The devices are those of all resources of `offer`, each once, named by UUID or index. `machine`
// is the machine of the offer; it tells the PCI address, by which display files are found. A device
// whose node is missing (a GPU that fell off the bus) is listed by path alone; one
// whose nodes are unknown (it is unhealthy) is left out. kInvalidArgument: a runtime would refuse a
// file (cdi/validate.h).
Result<Specs> make_specs(const offer::Offer& offer, const gpu::Machine& machine,
                         const DriverFiles& files, const SpecOptions& options);

std::string spec_file_name(std::string_view class_name);
// All classes, in the order of Specs::files.
std::span<const std::string_view> classes();

}  // namespace tranche::cdi
