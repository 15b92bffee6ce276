#pragma once
// Host files and device nodes in a container. A grant contains them, and a CDI specification tells
// a runtime to add them. Kubelet's answer and CDI's JSON are made from the same values; each uses
// the fields that its format has.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tranche {

struct Mount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;
  std::vector<std::string> options{};  // only for CDI: further options of mount(8)
  bool operator==(const Mount&) const = default;
};

struct DeviceNode {
  std::string container_path;
  std::string host_path;      // empty in CDI: the same path as in the container
  std::string permissions{};  // "rw", "rwm"; empty in CDI: the runtime's default
  // Only for CDI. Absent: the runtime reads them from the node itself. With `type` ("c": a
  // character device) and `major` it needs no node on the host.
  std::string type{};
  std::optional<std::int64_t> major{};
  std::optional<std::int64_t> minor{};
  std::optional<std::uint32_t> file_mode{};
  std::uint32_t gid = 0;
  bool operator==(const DeviceNode&) const = default;
};

}  // namespace tranche
