#pragma once
// The rules that NVIDIA's programs check after parsing, on the effective settings, in their order.

#include "config/file/settings.h"
#include "config/flags/sources.h"
#include "config/problems.h"

namespace tranche::config {

// The agent's program checks everything; feature discovery the discovery strategy, and here the MIG
// strategy too, on which it would fail later.
void validate(const Settings& settings, Program program, Problems& problems);

}  // namespace tranche::config
