#pragma once
// Files that are no Kubernetes objects: configurations of the device plugin (config v1), layouts of
// mig-parted; and ConfigMaps that hold such files. They are read by what reads them on the node, so
// lint says what the node would say. Pure.

#include <string>
#include <string_view>

#include "explain/lint/place.h"

namespace tranche::lint {

enum class FileKind { kNone, kConfig, kParted };

// By the keys at the top. A file of version v1 whose other keys nobody knows is a configuration.
FileKind kind_of_file(const yaml::Node& root);
// The same of a text that cannot be read, or that is commented out, by how its lines begin.
FileKind kind_of_lines(std::string_view text);

void check_file(std::string_view text, FileKind kind, const TextPlace& place, Report& report);

// `source`: the whole file, to find the lines of what the ConfigMap holds.
void check_config_map(const Place& object, std::string_view source);

// "file:3: sharing.mps: what; fix", as the readers of such files write; `name`: the file's in it.
Finding finding_of(std::string_view message, std::string_view name, Level level,
                   const TextPlace& place);

}  // namespace tranche::lint
