#pragma once
// Puts flags, environment and defaults over the file's settings: flag > environment > file >
// default, field by field. A source that is set to an empty string counts as set. Warns of what the
// file says in vain.

#include "config/file/settings.h"
#include "config/flags/sources.h"
#include "config/problems.h"

namespace tranche::config {

// `settings` hold what the file says; the other sources are added.
void merge(const Sources& sources, Settings& settings, Problems& problems);

}  // namespace tranche::config
