#pragma once
// Puts flags, environment and defaults over the file's settings: flag > environment > file >
// default, field by field. A source counts when it is set, be it to an empty string.

#include <optional>

#include "config/flag_table.h"
#include "config/load.h"
#include "config/problems.h"
#include "config/settings.h"

namespace tranche::config {

// The FlagUse bit of a program.
FlagUse use_of(Program program);

// What the command line, else the environment, says about one flag; nullopt when neither does.
// kInvalidArgument, beginning "flag --x: " or "environment X: ", when it cannot be read.
Result<std::optional<Setting>> given(const FlagSpec& spec, const Sources& sources);

// Completes `settings`, which hold what the file said.
void merge(const Sources& sources, Settings& settings, Problems& problems);

}  // namespace tranche::config
