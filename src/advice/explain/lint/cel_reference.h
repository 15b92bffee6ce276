#pragma once
// `device.attributes['gpu.nvidia.com'].productName`, and the literal that it is compared with.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "explain/lint/cel_tokens.h"

namespace tranche::lint {

// What a reference is compared with: `>= 40000`, or `40000 <=` before it.
struct CelComparison {
  std::string sign;  // as if the reference were on the left; empty: `method` compares
  CelToken::Kind kind = CelToken::Kind::kNumber;
  std::string function;  // "quantity", "semver": the literal is its argument; else empty
  std::string literal;
  std::size_t begin = 0;  // of reference and literal, in the expression
  std::size_t end = 0;
  std::string method = {};  // "compareTo", "isGreaterThan", "isLessThan"
};

struct CelReference {
  bool is_capacity = false;
  std::string first;                  // in the first brackets
  std::optional<std::string> second;  // the name after it
  std::size_t begin = 0;
  std::size_t end = 0;
  std::optional<CelComparison> comparison;
};

// All references in the expression, in order.
std::vector<CelReference> cel_references(const std::vector<CelToken>& tokens);

}  // namespace tranche::lint
