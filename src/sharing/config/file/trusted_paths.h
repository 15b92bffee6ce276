#pragma once
// Which paths a configuration file may name.
//
// The container runtime runs the CDI hook as the host's root, and the files below the driver's root
// are mounted into containers or loaded by the agent. Folders below mpsRoot are mounted into
// containers to be written. The agent writes outputFile as root, and publishes what it reads in
// machineTypeFile as a label. Whoever may write the ConfigMap of a
// configuration need not be the host's root, and any Pod can put files somewhere on the host (an
// emptyDir). So a file may name paths in trusted folders only (--trusted-folders), where only the
// host's root writes. What a flag or the environment says is the cluster administrator's word, and
// free.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tranche::config {

// Why `path` is not in one of `folders`; nullopt: it is. Looks at the text alone: a path with ".",
// ".." or doubled slashes is in none. A symbolic link in a trusted folder is its owner's word.
std::optional<std::string> why_untrusted(std::string_view path,
                                         std::span<const std::string> folders);

// Why `path` is no CDI hook program of NVIDIA's by its name; nullopt: it is.
std::optional<std::string> why_no_hook(std::string_view path);

}  // namespace tranche::config
