#pragma once
// Puts flags, environment and defaults over the file's settings: flag > environment > file >
// default, field by field. A source counts when it is set, be it to an empty string.

#include "config/file/settings.h"
#include "config/flags/sources.h"
#include "config/problems.h"

namespace tranche::config {

// Completes `settings`, which hold what the file said.
void merge(const Sources& sources, Settings& settings, Problems& problems);

}  // namespace tranche::config
