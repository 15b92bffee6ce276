#pragma once
// The rules that NVIDIA's programs check after parsing, on the effective settings, in their order.

#include "config/file/settings.h"
#include "config/flags/sources.h"
#include "config/problems.h"

namespace tranche::config {

// The agent checks everything. Feature discovery checks the discovery strategy, as NVIDIA's does,
// and the MIG strategy too, because it would fail on that later.
void validate(const Settings& settings, Program program, Problems& problems);

}  // namespace tranche::config
