#pragma once
// The driver files that a GPU container needs. find_driver_files.h finds them; CDI specifications
// are made from them.
//
// Paths are as containers see them ("/usr/lib64/libcuda.so.570.158.01"). cdi/make_specs.h
// determines the corresponding host paths.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu/ids.h"

namespace tranche::cdi {

// The numbers, mode and group of a character device, from stat(2).
struct DeviceNumbers {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint32_t mode = 0;  // permission bits
  std::uint32_t gid = 0;
  bool operator==(const DeviceNumbers&) const = default;
};

// The display files of a GPU.
struct DrmFiles {
  std::vector<std::string> nodes;  // "/dev/dri/card1", "/dev/dri/renderD128"
  std::vector<std::string> links;  // "../card1::/dev/dri/by-path/pci-0000:3b:00.0-card"
  bool operator==(const DrmFiles&) const = default;
};

// A file whose path in the container differs from where it was found.
struct PlacedFile {
  std::string path;
  std::string container_path;
  bool operator==(const PlacedFile&) const = default;
};

struct DriverFiles {
  std::string driver_version;
  std::vector<std::string> cuda_folders;        // those with libcuda.so.<version>
  std::vector<std::string> libraries;           // by folder, then name
  std::vector<std::string> explicit_libraries;  // only with enable-explicit-driver-libraries
  std::vector<std::string> library_links;       // "libcuda.so.1::/usr/lib64/libcuda.so"
  std::vector<std::string> binaries;
  std::vector<std::string> firmware;
  std::vector<PlacedFile> configs;     // EGL, Vulkan, OpenCL, X.Org
  std::vector<std::string> sockets;    // sockets of nvidia-persistenced, fabric manager and MPS
  std::vector<std::string> gds_files;  // in addition to nodes: /run/udev, /etc/cufile.json
  // Whether the nodes were found below the driver's root (a driver container's /dev), not in the
  // host's /dev.
  bool nodes_below_driver = false;
  bool imex_below_driver = false;  // the same for the nodes of IMEX channels
  // Existing device nodes, by path. nullopt: not a character device, or stat(2) failed.
  std::map<std::string, std::optional<DeviceNumbers>> nodes;
  // The major number of the nodes in /dev/nvidia-caps. nullopt: the kernel does not list it.
  std::optional<std::uint32_t> caps_major = {};
  std::map<gpu::PciAddress, DrmFiles> drm;
  // Dangling links among these files, by path. They are in none of the lists: a container runtime
  // cannot create a container that should mount one.
  std::vector<std::string> dangling = {};
  bool operator==(const DriverFiles&) const = default;
};

}  // namespace tranche::cdi
