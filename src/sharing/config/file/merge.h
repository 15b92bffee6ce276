#pragma once
// Merges flags, environment and defaults over the file's settings: flag > environment > file >
// default, field by field. A source set to an empty string counts as set. Warns about file settings
// that are overridden.

#include "config/file/settings.h"
#include "config/flags/sources.h"
#include "config/problems.h"

namespace tranche::config {

// `settings` hold the file's settings; the other sources are added.
void merge(const Sources& sources, Settings& settings, Problems& problems);

}  // namespace tranche::config
