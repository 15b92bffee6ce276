#pragma once
// Turns the YAML tree of a configuration file into settings. Unknown keys and values of a wrong
// type are reported. Defaults and other sources come later (merge.h), and so do the rules
// (validate.h), except those that NVIDIA's program checks while parsing.

#include <string>

#include "base/yaml.h"
#include "config/file/settings.h"
#include "config/problems.h"

namespace tranche::config {

// The start of the error about a file of another version. Nothing else in such a file is checked.
inline constexpr std::string_view kUnknownVersion = "unknown version: ";

// `name` is the file's name in messages.
Settings read_file(const yaml::Document& document, const std::string& name, Problems& problems);

}  // namespace tranche::config
