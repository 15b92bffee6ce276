#pragma once
// The number that a container writes at nvidia.com/gpu: a whole one, which is Kubernetes' concern,
// or a fraction in steps of 0.01. Parsed exactly, without floating point.
//
// The grammar is that of Kubernetes' quantities (base/quantity.h): 0.5, "0.5", "500m", 5e-1. A
// webhook gets every spelling from the API server as "500m"; manifests and templates that it has
// not read keep theirs.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace tranche::admission {

struct Amount {
  int hundredths = 0;      // 1 to 99 for a fraction; else 0
  std::int64_t whole = 0;  // of a whole number

  bool is_fraction() const { return hundredths != 0; }
  bool operator==(const Amount&) const = default;
};

// kInvalidArgument, with what to write instead: not a number, or neither whole nor a step: 0.005,
// 1.5, -0.5.
Result<Amount> parse_amount(json::View value);
Result<Amount> parse_amount(std::string_view text);

// "0.5", "0.07", "2".
std::string to_string(const Amount& amount);
// 500 -> "0.5", 333 -> "0.333".
std::string permille_text(int permille);

}  // namespace tranche::admission
