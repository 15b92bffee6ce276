#pragma once
// Files and device nodes of the host, in a container: what a grant gives, and what a CDI
// specification tells a runtime to put there. Kubelet's answer and CDI's JSON are made of the same
// values; each takes the fields that it has words for.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tranche {

struct Mount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;
  std::vector<std::string> options{};  // CDI's alone: more options of mount(8)
  bool operator==(const Mount&) const = default;
};

struct DeviceNode {
  std::string container_path;
  std::string host_path;      // in CDI empty: the same
  std::string permissions{};  // "rw", "rwm"; in CDI empty: the runtime's default
  // CDI's alone. Absent: the runtime asks the node itself.
  std::optional<std::int64_t> major{};
  std::optional<std::int64_t> minor{};
  std::optional<std::uint32_t> file_mode{};
  std::uint32_t gid = 0;
  bool operator==(const DeviceNode&) const = default;
};

}  // namespace tranche
