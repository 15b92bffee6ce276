#pragma once
// Makes the limits of each resource from `tranche.limits` as written. Part of settle.h.

#include "config/file/settings.h"
#include "config/limits.h"
#include "config/problems.h"

namespace tranche::config {

// Warns of what is written and has no effect.
void check_limits(const Settings& settings, Problems& problems);

// The promises that no device can keep, whatever it is. Those that depend on the device are the
// offer's (offer/limits.h).
void validate_limits(const Settings& settings, Problems& problems);

// Each field of a resource comes from its entry, or else from the general part, or else it is the
// default.
LimitTable settle_limits(const FileLimitTable& from);

}  // namespace tranche::config
