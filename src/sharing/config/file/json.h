#pragma once
// The effective settings as NVIDIA's programs print them after "Running with config:".

#include <span>
#include <string>
#include <string_view>

#include "config/file/settings.h"
#include "config/flags/sources.h"

namespace tranche::config {

// JSON, 2-space indented, keys in NVIDIA's order; null for what is unset, except where NVIDIA
// leaves the key out. `settings` have been through merge() and neuter().
std::string to_json(const Settings& settings, Program program);

// `json`, as to_json() made it, with the resources that NVIDIA's plugin adds for strategy mixed:
// one for each MIG profile ("1g.5gb+me" -> nvidia.com/mig-1g.5gb.me) that the machine's GPUs can
// have.
std::string with_mig_resources(std::string_view json, std::span<const std::string> profiles);

}  // namespace tranche::config
