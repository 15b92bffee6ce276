#pragma once
// Rewrites a CEL comparison so that it can be true: quantities and versions are neither numbers nor
// texts, and are compared with compareTo(). Pure.

#include <optional>
#include <string>
#include <string_view>

#include "explain/lint/cel_reference.h"
#include "explain/lint/surroundings.h"

namespace tranche::lint {

struct CelRewrite {
  std::string what;                 // what is wrong; empty: nothing
  std::optional<std::string> text;  // replaces the comparison; nullopt: unknown
  std::string remark = {};          // how the literal was interpreted
};

// `reference`: in its correct spelling. `name`: of the capacity, for its unit.
CelRewrite compare_capacity(std::string_view reference, std::string_view name,
                            const CelComparison& comparison);
CelRewrite compare_attribute(std::string_view reference, AttributeKind kind,
                             const CelComparison& comparison);

}  // namespace tranche::lint
