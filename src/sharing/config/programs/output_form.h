#pragma once
// The form in which a command prints what it found: its flag --output.

#include "base/result.h"
#include "config/flags/sources.h"

namespace tranche::config {

enum class OutputForm { kTable, kJson, kYaml };

// Of a program with no other settings; `use`: which one, FlagUse. kInvalidArgument: another word.
Result<OutputForm> load_output_form(const Sources& sources, unsigned use);

}  // namespace tranche::config
