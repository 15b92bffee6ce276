#pragma once
// Makes the limits of each resource from `tranche.limits` as written. Part of settle.h.

#include "config/file/settings.h"
#include "config/limits.h"
#include "config/problems.h"

namespace tranche::config {

// Warns about fields that have no effect.
void check_limits(const Settings& settings, Problems& problems);

// Checks for promises that no device can keep. Those that depend on the device are checked by the
// offer (offer/limits.h).
void validate_limits(const Settings& settings, Problems& problems);

// Each field of a resource comes from its entry, else from the general part, else from the
// default.
LimitTable settle_limits(const FileLimitTable& from);

}  // namespace tranche::config
