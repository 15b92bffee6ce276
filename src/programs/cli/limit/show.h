#pragma once
// The output of `tranche limit`: a table for people, JSON or YAML for programs, in the form of
// docs/schemas/limit-list-v1.schema.json. Pure.

#include <string>

#include "cli/limit/overview.h"
#include "cli/limit/work.h"
#include "config/programs/limit_options.h"

namespace tranche::cli {

std::string show(const LimitReport& report, const config::LimitOptions& options);
std::string show(const LimitOverview& overview, const config::LimitOptions& options);

}  // namespace tranche::cli
