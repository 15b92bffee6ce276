#pragma once
// The rules that NVIDIA's programs check after parsing, on the effective settings, in their order.

#include <span>
#include <string>

#include "config/file/settings.h"
#include "config/flags/sources.h"
#include "config/problems.h"

namespace tranche::config {

// The agent checks everything. Feature discovery checks the discovery strategy, as NVIDIA's does,
// and the MIG strategy too, because it would fail on that later.
// `trusted`: the folders in which a file may name paths (trusted_paths.h).
void validate(const Settings& settings, Program program, std::span<const std::string> trusted,
              Problems& problems);

}  // namespace tranche::config
