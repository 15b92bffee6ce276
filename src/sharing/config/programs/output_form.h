#pragma once
// The output format of a command: its flag --output.

#include "base/result.h"
#include "config/flags/sources.h"

namespace tranche::config {

class OptionReader;

enum class OutputForm { kTable, kJson, kYaml };

// Among a program's other settings.
OutputForm read_output_form(OptionReader& reader);

// For a program with no other settings; `use`: which one, FlagUse. kInvalidArgument: an unknown
// format.
Result<OutputForm> load_output_form(const Sources& sources, unsigned use);

}  // namespace tranche::config
