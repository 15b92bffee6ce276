#pragma once
// The help screen: keys, signs and the filter language.

#include <vector>

#include "top/view/line.h"

namespace tranche::top {

std::vector<Line> help_lines(const Signs& signs);

}  // namespace tranche::top
