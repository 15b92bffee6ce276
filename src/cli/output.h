#pragma once
// A document in the form that --output asks for. Pure.

#include <string>

#include "base/json_value.h"
#include "config/programs/output_form.h"

namespace tranche::cli {

// JSON or YAML, with a line end; `form` is not kTable.
std::string written(const json::Value& document, config::OutputForm form);

}  // namespace tranche::cli
