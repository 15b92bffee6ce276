#pragma once
// The effective settings as NVIDIA's programs print them after "Running with config:".

#include <span>
#include <string>
#include <string_view>

#include "config/file/settings.h"
#include "config/flags/sources.h"

namespace tranche::config {

// JSON, 2-space indented, keys in NVIDIA's order; null for unset fields, except where NVIDIA omits
// the key. `settings` must have been through merge() and neuter().
std::string to_json(const Settings& settings, Program program);

// The output `json` of to_json(), plus the resources that NVIDIA's plugin adds for strategy mixed:
// one for each MIG profile ("1g.5gb+me" -> nvidia.com/mig-1g.5gb.me) that the machine's GPUs
// support.
std::string with_mig_resources(std::string_view json, std::span<const std::string> profiles);

}  // namespace tranche::config
