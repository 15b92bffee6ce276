#pragma once
// The configuration file as settings: from the YAML tree, every key known or reported, every value
// of its type. Nothing is defaulted, merged with other sources or judged here beyond what NVIDIA's
// parser judges while it parses.

#include <string>

#include "base/yaml.h"
#include "config/file/settings.h"
#include "config/problems.h"

namespace tranche::config {

// `name` is how messages call the file.
Settings read_file(const yaml::Document& document, const std::string& name, Problems& problems);

}  // namespace tranche::config
