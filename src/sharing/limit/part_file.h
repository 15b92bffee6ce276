#pragma once
// The file that shows a container its own part (limit/part_format.h).

#include <string>

#include "limit/tenant_limits.h"

namespace tranche::limit {

std::string part_file_of(const TenantLimits& limits);

}  // namespace tranche::limit
