#pragma once
// Makes the Config from valid settings. Fields that NVIDIA's programs ignore are dropped with a
// warning, unless tranche.honorIgnoredFields is set. Names and defaults derived from other fields
// are filled in.

#include "config/config.h"
#include "config/file/settings.h"
#include "config/problems.h"

namespace tranche::config {

// Drops fields that have no effect, and fills `rename` where renameByDefault asks for it;
// afterwards `settings` are the effective ones. Reports what was dropped, and errors in the fields
// that tranche.honorIgnoredFields makes effective.
void neuter(Settings& settings, Problems& problems);

Config settle(const Settings& settings);

}  // namespace tranche::config
