#pragma once
// A CDI (Container Device Interface) specification as a value, and its JSON.
// https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md
//
// A runtime refuses a file with an unknown version. So a specification always has the lowest
// version that supports its fields.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "values/container_files.h"

namespace tranche::cdi {

struct Hook {
  std::string hook_name;  // "createContainer"
  std::string path;
  std::vector<std::string> args;  // including args[0]
  std::vector<std::string> env;
  int timeout = 0;  // seconds; 0: none
  bool operator==(const Hook&) const = default;
};

struct ContainerEdits {
  std::vector<std::string> env;  // "NAME=value"
  std::vector<DeviceNode> device_nodes;
  std::vector<Hook> hooks;
  std::vector<Mount> mounts;
  std::vector<std::uint32_t> additional_gids;
  bool operator==(const ContainerEdits&) const = default;

  bool empty() const {
    return env.empty() && device_nodes.empty() && hooks.empty() && mounts.empty() &&
           additional_gids.empty();
  }
};

struct Device {
  std::string name;
  ContainerEdits edits;
  bool operator==(const Device&) const = default;
};

struct Spec {
  std::string kind;  // "k8s.device-plugin.nvidia.com/gpu"
  std::vector<Device> devices;
  ContainerEdits edits;  // for every container that gets any of the devices
  bool operator==(const Spec&) const = default;
};

// The lowest CDI version that supports all fields of `spec`: "0.3.0" to "0.7.0".
std::string minimum_version(const Spec& spec);

// Sorts in NVIDIA's order: devices by name; device nodes and mounts by depth, then by container
// path (a mount below another one must come after it); GIDs ascending. Removes repeated nodes,
// mounts and GIDs.
void put_in_order(Spec& spec);

// Compact JSON with NVIDIA's order of keys. Empty and zero values are omitted, as in NVIDIA's
// plugin.
std::string to_json(const Spec& spec);

}  // namespace tranche::cdi
