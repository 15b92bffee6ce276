#pragma once
// The number that a container writes at nvidia.com/gpu: a whole one, which is not our concern, or a
// fraction in steps of 0.01. Exact: digits are read as digits, and no double is made.
//
// The grammar is that of Kubernetes' quantities (base/quantity.h): 0.5, "0.5", "500m", 5e-1. The
// API server shows every spelling as "500m" to a webhook; manifests and templates that it has not
// read yet show their own.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace tranche::admission {

struct Amount {
  int hundredths = 0;      // of a fraction: 1 to 99; else 0
  std::int64_t whole = 0;  // of a whole number

  bool is_fraction() const { return hundredths != 0; }
  bool operator==(const Amount&) const = default;
};

// kInvalidArgument: what is wrong with the number, and what to write instead. Of this kind are all
// numbers that are neither whole nor a step: 0.005, 1.5, -0.5; also what is no number.
Result<Amount> parse_amount(json::View value);
Result<Amount> parse_amount(std::string_view text);

// "0.5", "0.07", "2".
std::string to_string(const Amount& amount);
// 500 -> "0.5", 333 -> "0.333".
std::string permille_text(int permille);

}  // namespace tranche::admission
