#pragma once
// From limits as they are written to those of each resource. Part of settle.h.

#include "config/file/settings.h"
#include "config/limits.h"
#include "config/problems.h"

namespace tranche::config {

// Warns of what is written and has no effect.
void check_limits(const Settings& settings, Problems& problems);

// Field by field: the entry's, else the general one, else the default.
LimitTable settle_limits(const FileLimitTable& from);

}  // namespace tranche::config
