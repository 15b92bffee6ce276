#pragma once
// Checks a CEL expression that selects devices (selectors[].cel.expression): whether the device
// properties it asks for exist, are attributes or capacities, and are compared in a way that CEL
// supports. Pure. It does not parse the grammar: it looks for `device.attributes` and
// `device.capacity` with their context, and ignores everything else.

#include <string>
#include <string_view>
#include <vector>

#include "explain/lint/surroundings.h"

namespace tranche::lint {

struct CelFinding {
  std::string what;
  std::string fix;
  bool corrected = false;  // in CelCheck::expression
  bool certain = true;     // an error; else a warning
};

struct CelCheck {
  std::string expression;  // with all possible corrections
  std::vector<CelFinding> findings;
};

CelCheck check_cel(std::string_view expression, const Surroundings& around);

// Kubernetes' limit: bytes of an expression.
inline constexpr std::size_t kLongestCel = 10U << 10U;

}  // namespace tranche::lint
