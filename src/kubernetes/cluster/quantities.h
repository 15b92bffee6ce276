#pragma once
// Reads a quantity of an object as a non-negative integer.

#include <cstdint>
#include <string_view>

#include "base/quantity.h"
#include "cluster/fields.h"

namespace tranche::cluster {

// 0 if the field is absent. An invalid or negative quantity is an error of the object.
inline std::uint64_t read_amount(const Fields& fields, std::string_view key) {
  if (!fields.has(key)) return 0;
  const auto amount = parse_bytes(fields.text(key));
  if (!amount) fields.refuse(key, "is no quantity of zero or more");
  return amount ? amount->value : 0;
}

}  // namespace tranche::cluster
