#pragma once
// Files that are not Kubernetes objects: configurations of the device plugin (config v1), layouts
// of mig-parted; and ConfigMaps that contain such files. They are read by the same code as on the
// node, so lint reports what the node would report. Pure.

#include <string>
#include <string_view>

#include "explain/lint/place.h"

namespace tranche::lint {

enum class FileKind { kNone, kConfig, kParted };

// Determined by the top-level keys. A file of version v1 with otherwise unknown keys is a
// configuration.
FileKind kind_of_file(const yaml::Node& root);
// The same for an unreadable or commented-out text, by how its lines begin.
FileKind kind_of_lines(std::string_view text);

void check_file(std::string_view text, FileKind kind, const TextPlace& place, Report& report);

// `source`: the whole file, to find the lines of the ConfigMap's content.
void check_config_map(const Place& object, std::string_view source);

// "file:3: sharing.mps: what; fix", as the readers of such files write; `name`: the file's name in
// it.
Finding finding_of(std::string_view message, std::string_view name, Level level,
                   const TextPlace& place);

}  // namespace tranche::lint
