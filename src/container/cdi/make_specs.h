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
  // The non-empty classes among gpu, imex-channel, gdrcopy, gds, mofed.
  std::vector<SpecFile> files;
  // The requested and non-empty ones among the last three classes:
  // offer::GrantOptions::cdi_modes.
  std::vector<std::string> modes;
  // Missing device nodes, of devices and of requested modes.
  std::vector<std::string> warnings;
};

// The devices are those of all resources of `offer`, each once, named by UUID or index. `machine`
// must be the offer's machine; it provides the PCI address, by which display files are found. A
// device whose node is missing (a GPU that fell off the bus) is listed by path only; one
// whose nodes are unknown (it is unhealthy) is omitted. kInvalidArgument: a runtime would refuse a
// file (cdi/validate.h).
Result<Specs> make_specs(const offer::Offer& offer, const gpu::Machine& machine,
                         const DriverFiles& files, const SpecOptions& options);

std::string spec_file_name(std::string_view class_name);
// All classes, in the order of Specs::files.
std::span<const std::string_view> classes();

}  // namespace tranche::cdi
