#pragma once
// Looks at a CEL expression that selects devices (selectors[].cel.expression): whether what it asks
// of a device is there, is an attribute or a capacity, and is compared as CEL can compare it. Pure.
// It reads no grammar: it looks for `device.attributes` and `device.capacity` with what stands
// beside them, and says nothing about all else.

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
  std::string expression;  // with all that could be corrected
  std::vector<CelFinding> findings;
};

CelCheck check_cel(std::string_view expression, const Surroundings& around);

// Of Kubernetes: bytes of an expression.
inline constexpr std::size_t kLongestCel = 10U << 10U;

}  // namespace tranche::lint
