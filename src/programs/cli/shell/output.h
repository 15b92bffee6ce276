#pragma once
// Output of commands: a document in the format of --output, or a table. Pure.

#include <string>
#include <vector>

#include "base/json_value.h"
#include "config/programs/output_form.h"

namespace tranche::cli {

// JSON or YAML, with a line end; `form` must not be kTable.
std::string written(const json::Value& document, config::OutputForm form);

// A table for people, with columns as wide as their longest text. All rows have the same number of
// cells, and there is at least one.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

}  // namespace tranche::cli
