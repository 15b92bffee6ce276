#pragma once
// From effective, valid settings to the Config: what NVIDIA's programs ignore is dropped with a
// warning (or honoured, tranche.honorIgnoredFields), names and defaults that depend on others are
// filled in.

#include "config/config.h"
#include "config/file/settings.h"
#include "config/problems.h"

namespace tranche::config {

// Drops what is not honoured and fills `rename` by renameByDefault, so that `settings` are what is
// in force. Problems: warnings, and errors about fields that are honoured and do not make sense.
void neuter(Settings& settings, Problems& problems);

Config settle(const Settings& settings);

}  // namespace tranche::config
