#pragma once
// The fields of the filter language: what each says of a row.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "top/view/row.h"

namespace tranche::top {

enum class FieldType { kText, kBytes, kPercent, kNumber };

struct Field {
  std::string_view name;
  FieldType type;
  std::string_view what;
  std::string (*text)(const Row& row) = nullptr;              // kText
  std::optional<double> (*number)(const Row& row) = nullptr;  // the others; percent as 0 to 100
};

std::span<const Field> fields();
// nullptr: none.
const Field* find_field(std::string_view name);

}  // namespace tranche::top
