#pragma once
// Decides which paths a configuration file may name.
//
// The container runtime runs the CDI hook as the host's root, and the files below the
// driver's root are mounted into containers or loaded by the agent. Folders below mpsRoot are
// mounted writable into containers. The agent writes outputFile as root, and publishes the
// content of machineTypeFile as a label. A user who may write the configuration's ConfigMap
// need not be the host's root, and any Pod can create files somewhere on the host (an
// emptyDir). So a file may only name paths in trusted folders (--trusted-folders), where only
// the host's root writes. Flags and environment come from the cluster administrator and are
// not restricted.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tranche::config {

// Why `path` is not in one of `folders`; nullopt: it is. Checks only the text: a path with ".",
// ".." or doubled slashes is in none. The owner of a trusted folder answers for its symbolic links.
std::optional<std::string> why_untrusted(std::string_view path,
                                         std::span<const std::string> folders);

// Why `path`, by its name, is not one of NVIDIA's CDI hook programs; nullopt: it is.
std::optional<std::string> why_no_hook(std::string_view path);

}  // namespace tranche::config
