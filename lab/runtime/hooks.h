#pragma once
// The hooks of a container with a GPU, called by runc in the container's namespaces before its root
// is entered. `nvidia-ctk hook NAME ...` plays NVIDIA's program, which CDI files name; `hook
// kernel` is the lab's own: what a loaded driver shows in /proc.
//
// A hook ends the program: main() returns its exit code.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::lab {

// `target::path` of `--link` (as `--link target::path` or `--link=...`).
struct Link {
  std::string target;
  std::string path;
  bool operator==(const Link&) const = default;
};
Result<std::vector<Link>> read_links(std::span<const std::string_view> arguments);

// The container's root file system, from the state that runc writes to a hook's standard input.
Result<std::filesystem::path> container_root(const std::string& state);

// `arguments`: the hook's name and what follows. Unknown names are kInvalidArgument; NVIDIA's hooks
// that have nothing to do on a simulated machine do nothing.
Result<void> run_hook(std::span<const std::string_view> arguments, const std::string& state);

}  // namespace tranche::lab
