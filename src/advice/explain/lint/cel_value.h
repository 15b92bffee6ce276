#pragma once
// A comparison in CEL that can be true: quantities and versions are no numbers and no texts, and
// are compared by compareTo(). Pure.

#include <optional>
#include <string>
#include <string_view>

#include "explain/lint/cel_reference.h"
#include "explain/lint/surroundings.h"

namespace tranche::lint {

struct CelRewrite {
  std::string what;                 // is wrong; empty: nothing is
  std::optional<std::string> text;  // in place of the comparison; nullopt: it is not known
  std::string remark = {};          // how the literal was understood
};

// `reference`: as it should be written. `name`: of the capacity, for its unit.
CelRewrite compare_capacity(std::string_view reference, std::string_view name,
                            const CelComparison& comparison);
CelRewrite compare_attribute(std::string_view reference, AttributeKind kind,
                             const CelComparison& comparison);

}  // namespace tranche::lint
