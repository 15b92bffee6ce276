#pragma once
// The container that is about to start, from the runtime's data: the state on the hook's standard
// input, and config.json in the bundle that the state names (OCI runtime specification). The
// runtime writes both as root. Pods choose some of the content (mounts, annotations), which is used
// only as described here.

#include <sys/types.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::hook {

// The maximum sizes that are read. A container with many annotations and mounts may need much.
inline constexpr std::size_t kLongestState = std::size_t{1} << 20U;
inline constexpr std::size_t kLongestConfig = std::size_t{4} << 20U;

struct State {
  pid_t pid = 0;  // the container's first process, in the runtime's pid namespace: the host's
  std::filesystem::path bundle;
  bool operator==(const State&) const = default;
};
// kInvalidArgument: not an OCI state, or a state without a process.
Result<State> parse_state(std::string_view text);

struct Container {
  std::filesystem::path rootfs;      // on the host
  std::vector<std::string> tenants;  // ids; empty: the container has no limits
  bool operator==(const Container&) const = default;
};
// Parses the text of config.json in `bundle`. A tenant is a mount of <tenants>/<id> at any place,
// because that is what the agent grants. `tenants`: all names of that folder, because runtimes
// write mount sources with symbolic links resolved. kInvalidArgument: not an OCI configuration.
Result<Container> parse_config(std::string_view text, const std::filesystem::path& bundle,
                               std::span<const std::filesystem::path> tenants);

}  // namespace tranche::hook
