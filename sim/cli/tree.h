#pragma once
// Writes the files that a machine with this hardware has, as production code and NVIDIA's programs
// read them: sysfs, /proc, device nodes and a driver root, all under one folder. Written again, it
// replaces what is there (MIG instances may have changed).

#include <filesystem>
#include <string>

#include "base/result.h"
#include "sim/state/simulation.h"

namespace tranche::sim {

struct TreeOptions {
  std::filesystem::path folder;
  std::string driver_root = "/";  // where under `folder` the driver's files and nodes lie
  // Where the links of /sys/bus/pci/devices lead, on this machine and for good: for a tree of which
  // only that folder is shown, since nothing can be added to a kernel's /sys/devices. Empty: to
  // /sys/devices under `folder`.
  std::filesystem::path pci_folder;
  bool plain_nodes = false;  // plain files in place of device nodes, also when mknod is permitted
};

struct TreeReport {
  bool device_nodes = false;  // real ones, else plain files (no permission for mknod)
  std::size_t nodes = 0;
};

Result<TreeReport> write_tree(const Simulation& sim, const TreeOptions& options);

// The first 256 bytes of a GPU's PCI configuration space; of a vGPU with NVIDIA's vendor
// capability.
std::string pci_config(const State& state, const Gpu& gpu);

}  // namespace tranche::sim
