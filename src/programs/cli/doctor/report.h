#pragma once
// What `tranche doctor` prints. Pure.

#include <string>
#include <vector>

#include "base/json_value.h"
#include "explain/node/node_checks.h"

namespace tranche::cli {

// For people: one paragraph for each finding, or that there is none.
std::string doctor_text(const std::vector<explain::Finding>& findings);
// doctor/v1 (docs/schemas/doctor-v1.schema.json).
json::Value doctor_document(const std::vector<explain::Finding>& findings);

}  // namespace tranche::cli
