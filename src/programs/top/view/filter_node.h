#pragma once
// The expression of a filter, between its parser and its evaluation.

#include <memory>
#include <string>
#include <vector>

#include "top/view/filter.h"
#include "top/view/filter_fields.h"

namespace tranche::top {

enum class Compare { kEqual, kNotEqual, kLess, kLessOrEqual, kMore, kMoreOrEqual };

struct Filter::Node {
  enum class Kind { kAll, kAny, kNot, kField, kWord };
  Kind kind = Kind::kAll;
  std::vector<std::shared_ptr<const Node>> parts{};  // kAll, kAny; kNot has one
  const Field* field = nullptr;                      // kField
  Compare compare = Compare::kEqual;
  std::string text{};    // of a text field: with wildcards; kWord: in lower case
  double number = 0;     // of any other
  bool unknown = false;  // it is compared with "?"
};

inline std::string lower_case(std::string text) {
  for (auto& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// kInvalidArgument: see Filter::parse.
Result<std::shared_ptr<const Filter::Node>> parse_filter(std::string_view text);

}  // namespace tranche::top
