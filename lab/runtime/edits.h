#pragma once
// Additions to an OCI specification. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "lab/runtime/request.h"

namespace tranche::lab {

struct DeviceNode {
  std::string path;
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint32_t mode = 0666;
  bool operator==(const DeviceNode&) const = default;
};

struct Mount {
  std::string source;
  std::string destination;
  bool read_only = true;
  bool operator==(const Mount&) const = default;
};

struct Hook {
  std::string path;
  std::vector<std::string> args;  // args[0] included
  bool operator==(const Hook&) const = default;
};

struct Edits {
  std::vector<DeviceNode> devices;
  std::vector<Mount> mounts;
  std::vector<std::string> env;        // "NAME=value"; replaces what the container has
  std::vector<Hook> create_container;  // run in the container's namespaces before its root is
  bool operator==(const Edits&) const = default;
};

// What is there already (by path, destination, name) is not added twice: a privileged container has
// every device of the node, and an orchestrator may have mounted what we would.
void apply(const Edits& edits, Json& spec);

}  // namespace tranche::lab
