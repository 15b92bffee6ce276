#pragma once
// The parts of the driver that a GPU container gets: device nodes, libraries, hooks. The node's
// files (cdi/make_specs.h) and those of claims (cdi/claim_spec.h) are built from it. Pure.

#include <string>
#include <vector>

#include "cdi/driver_files.h"
#include "cdi/hooks.h"
#include "cdi/spec.h"
#include "cdi/spec_options.h"
#include "gpu/machine.h"
#include "offer/offer.h"

namespace tranche::cdi {

class GpuEdits {
 public:
  GpuEdits(const DriverFiles& files, const SpecOptions& options)
      : files_(files), options_(options), hooks_(options.hook_program, options.disabled_hooks) {}

  // The edits for every container that has any GPU.
  ContainerEdits common() const;
  // The edits for a container that has the device. Empty if its nodes are unknown.
  ContainerEdits of(const offer::Device& device, const gpu::Machine& machine) const;

  // Adds a driver node. Its host path is where it was found: below the driver's root or below the
  // device root (flags.nvidiaDevRoot).
  void add_node(const std::string& path, ContainerEdits& edits) const {
    add_node(path, files_.nodes_below_driver, edits);
  }
  void add_imex_node(const std::string& path, ContainerEdits& edits) const {
    add_node(path, files_.imex_below_driver, edits);
  }
  // Adds driver files, mounted at their own paths.
  void add_files(const std::vector<std::string>& paths, ContainerEdits& edits) const;

 private:
  void add_node(const std::string& path, bool below_driver, ContainerEdits& edits) const;
  void add_common_hooks(ContainerEdits& edits) const;
  void add_numbers_of_capability(const std::string& path, DeviceNode& node) const;
  void add_display_files(const gpu::PciAddress& gpu, ContainerEdits& edits) const;

  const DriverFiles& files_;
  const SpecOptions& options_;
  HookMaker hooks_;
};

// Keeps NVIDIA's runtime, if present, from adding its own devices.
inline constexpr const char* kNothingOfTheRuntime = "NVIDIA_VISIBLE_DEVICES=void";

// The mount(8) options for host files.
std::vector<std::string> file_mount_options();

}  // namespace tranche::cdi
