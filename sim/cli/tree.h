#pragma once
// Writes the files that a machine with this hardware has, as production code and NVIDIA's programs
// read them: sysfs, /proc, device nodes and a driver root, all under one folder. A repeated write
// replaces the previous files (MIG instances may have changed).

#include <filesystem>
#include <string>

#include "base/result.h"
#include "sim/state/simulation.h"

namespace tranche::sim {

struct TreeOptions {
  std::filesystem::path folder;
  std::string driver_root = "/";  // location of the driver's files and nodes under `folder`
  // The permanent target on this machine of the links in /sys/bus/pci/devices, for a tree of which
  // only that folder is mounted, since nothing can be added to a kernel's /sys/devices. Empty:
  // /sys/devices under `folder`.
  std::filesystem::path pci_folder;
  bool plain_nodes = false;  // plain files instead of device nodes, even if mknod is permitted
};

struct TreeReport {
  bool device_nodes = false;  // real ones; otherwise plain files (mknod not permitted)
  std::size_t nodes = 0;
};

Result<TreeReport> write_tree(const Simulation& sim, const TreeOptions& options);

// The first 256 bytes of a GPU's PCI configuration space; for a vGPU with NVIDIA's vendor
// capability.
std::string pci_config(const State& state, const Gpu& gpu);

}  // namespace tranche::sim
