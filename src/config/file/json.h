#pragma once
// The effective settings as NVIDIA's programs print them after "Running with config:".

#include <string>

#include "config/file/settings.h"
#include "config/flags/sources.h"

namespace tranche::config {

// JSON, 2-space indented, keys in NVIDIA's order; null for what is unset, except where NVIDIA
// leaves the key out. `settings` have been through merge() and neuter().
std::string to_json(const Settings& settings, Program program);

}  // namespace tranche::config
