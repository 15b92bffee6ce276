#pragma once
// Which files of the driver a GPU container needs: what CDI specifications are made of, as
// find_driver_files.h finds them.
//
// Paths are as containers see them ("/usr/lib64/libcuda.so.570.158.01"); where they
// lie on the host is decided when a specification is made (cdi/make_specs.h).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu/ids.h"

namespace tranche::cdi {

// What stat(2) says of a character device.
struct DeviceNumbers {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint32_t mode = 0;  // permission bits
  std::uint32_t gid = 0;
  bool operator==(const DeviceNumbers&) const = default;
};

// The display side of a GPU.
struct DrmFiles {
  std::vector<std::string> nodes;  // "/dev/dri/card1", "/dev/dri/renderD128"
  std::vector<std::string> links;  // "../card1::/dev/dri/by-path/pci-0000:3b:00.0-card"
  bool operator==(const DrmFiles&) const = default;
};

// A file that is found at one place and belongs at another in the container.
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
  std::vector<std::string> sockets;    // of daemons: nvidia-persistenced, fabric manager, MPS
  std::vector<std::string> gds_files;  // beside the nodes: /run/udev, /etc/cufile.json
  // Device nodes that are there, by path. nullopt: no character device (or not to be asked).
  std::map<std::string, std::optional<DeviceNumbers>> nodes;
  std::map<gpu::PciAddress, DrmFiles> drm;
  bool operator==(const DriverFiles&) const = default;
};

}  // namespace tranche::cdi
