#pragma once
// The rows of a reading, in the order of the settings. Pure.

#include <vector>

#include "top/view/reading.h"
#include "top/view/row.h"
#include "top/view/settings.h"

namespace tranche::top {

// `reading` must outlive the rows.
std::vector<Row> rows_of(const Reading& reading, const Settings& settings);

}  // namespace tranche::top
