#pragma once
// The expression of a filter, between its parser and its evaluation.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "top/view/filter_fields.h"

namespace tranche::top {

enum class Compare { kEqual, kNotEqual, kLess, kLessOrEqual, kMore, kMoreOrEqual };

inline constexpr std::size_t kLongestFilter = 1000;  // bytes
inline constexpr int kDeepestFilter = 50;            // parentheses and ! within each other

struct FilterNode {
  enum class Kind { kAll, kAny, kNot, kField, kWord };
  Kind kind = Kind::kAll;
  std::vector<std::shared_ptr<const FilterNode>> parts{};  // kAll, kAny; kNot has one
  const Field* field = nullptr;                            // kField
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

// kInvalidArgument: "column 5: no field 'memm'", with what may stand there as the hint.
Result<std::shared_ptr<const FilterNode>> parse_filter(std::string_view text);

}  // namespace tranche::top
