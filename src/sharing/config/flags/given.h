#pragma once
// What the command line and the environment say about a flag.

#include <optional>

#include "base/result.h"
#include "config/flags/flag_table.h"
#include "config/flags/setting.h"
#include "config/flags/sources.h"

namespace tranche::config {

// The FlagUse bit of a program.
FlagUse use_of(Program program);

// What the command line, else the environment, says about one flag; nullopt when neither does.
// kInvalidArgument, beginning "flag --x: " or "environment X: ", when it cannot be read.
Result<std::optional<Setting>> given(const FlagSpec& spec, const Sources& sources);

}  // namespace tranche::config
