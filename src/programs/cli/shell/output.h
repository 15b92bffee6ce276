#pragma once
// What commands print: a document in the form that --output asks for, a table. Pure.

#include <string>
#include <vector>

#include "base/json_value.h"
#include "config/programs/output_form.h"

namespace tranche::cli {

// JSON or YAML, with a line end; `form` is not kTable.
std::string written(const json::Value& document, config::OutputForm form);

// A table for people: each column is as wide as its longest text. All rows have the same number of
// cells, and there is at least one row.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

}  // namespace tranche::cli
