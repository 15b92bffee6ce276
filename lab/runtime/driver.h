#pragma once
// What a request means on this node: the device nodes of the simulated GPUs asked for, the driver's
// files, and what stands in for the kernel's driver. Reads the node through `files`; no state.

#include "base/fs.h"
#include "base/result.h"
#include "lab/runtime/edits.h"
#include "lab/runtime/request.h"
#include "sim/state/state.h"

namespace tranche::lab {

// The folder of the simulated machine's state on the node, and in every container that has a GPU.
inline constexpr const char* kMachineFolder = "/run/tranche-sim";
// What `tranche-sim root` wrote on the node: the files that on hardware come with the kernel's
// driver.
inline constexpr const char* kTreeFolder = "/run/tranche-lab/machine";
// The id of the node's boot: the kernel's own is the machine's (lab/cluster/node_root.py).
inline constexpr const char* kBootId = "/run/tranche-lab/kernel/kernel/random/boot_id";

// For a container that asks for nothing here but has the driver's device nodes from elsewhere (a
// CDI file, or privileges): what the kernel shows it. Part of driver_edits() too.
Edits kernel_edits(const FsRoot& files);
bool has_driver_nodes(const Json& spec);

// kInvalidArgument: a device that this machine has not. kFailedPrecondition: the node lacks a file
// of the driver or a device node.
Result<Edits> driver_edits(const Request& request, const sim::State& state, const FsRoot& files);

}  // namespace tranche::lab
