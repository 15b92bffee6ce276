#pragma once
// The container that is about to start, by what its runtime says of it: the state on the hook's
// standard input, and config.json in the bundle that the state names (OCI runtime specification).
// Both are the runtime's, written by root; what Pods put into them (mounts, annotations) is not
// believed beyond what is said here.

#include <sys/types.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::hook {

// Of a node with many annotations and mounts there may be much.
inline constexpr std::size_t kLongestState = std::size_t{1} << 20U;
inline constexpr std::size_t kLongestConfig = std::size_t{4} << 20U;

struct State {
  pid_t pid = 0;  // the container's first process, in the runtime's pid namespace: the host's
  std::filesystem::path bundle;
  bool operator==(const State&) const = default;
};
// kInvalidArgument: no OCI state, or one without a process.
Result<State> parse_state(std::string_view text);

struct Container {
  std::filesystem::path rootfs;      // on the host
  std::vector<std::string> tenants;  // ids; empty: nothing in it is limited
  bool operator==(const Container&) const = default;
};
// Of the text of config.json in `bundle`. A tenant is a mount of <tenants>/<id>, at whatever place:
// that is what the agent grants. `tenants`: every name of that folder, for runtimes write sources
// without links. kInvalidArgument: no OCI configuration.
Result<Container> parse_config(std::string_view text, const std::filesystem::path& bundle,
                               std::span<const std::filesystem::path> tenants);

}  // namespace tranche::hook
