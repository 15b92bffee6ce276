#pragma once
// The value of a flag from the command line and the environment.

#include <optional>

#include "base/result.h"
#include "config/flags/flag_table.h"
#include "config/flags/setting.h"
#include "config/flags/sources.h"

namespace tranche::config {

// The FlagUse bit of a program.
FlagUse use_of(Program program);

// The value of one flag from the command line, else from the environment; nullopt if neither sets
// it. kInvalidArgument, beginning "flag --x: " or "environment X: ", if it cannot be read.
Result<std::optional<Setting>> given(const FlagSpec& spec, const Sources& sources);

}  // namespace tranche::config
