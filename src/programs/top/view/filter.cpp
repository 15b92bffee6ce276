#include "top/view/filter.h"

#include <algorithm>
#include <cmath>

#include "top/view/filter_node.h"

namespace tranche::top {
namespace {

using Node = FilterNode;

bool compare_numbers(Compare compare, double a, double b) {
  switch (compare) {
    case Compare::kEqual:
      return a == b;
    case Compare::kNotEqual:
      return a != b;
    case Compare::kLess:
      return a < b;
    case Compare::kLessOrEqual:
      return a <= b;
    case Compare::kMore:
      return a > b;
    case Compare::kMoreOrEqual:
      return a >= b;
  }
  return false;
}

bool matches_field(const Node& node, const Row& row) {
  if (node.field->type == FieldType::kText) {
    const bool same = matches_wildcards(node.text, node.field->text(row));
    return same == (node.compare == Compare::kEqual);
  }
  const auto number = node.field->number(row);
  if (node.unknown) return number.has_value() != (node.compare == Compare::kEqual);
  return number && std::isfinite(*number) && compare_numbers(node.compare, *number, node.number);
}

bool matches_word(const std::string& word, const Row& row) {
  return std::ranges::any_of(fields(), [&](const Field& field) {
    return field.type == FieldType::kText &&
           lower_case(field.text(row)).find(word) != std::string::npos;
  });
}

bool matches_node(const Node& node, const Row& row) {
  const auto matches = [&](const auto& part) { return matches_node(*part, row); };
  switch (node.kind) {
    case Node::Kind::kAll:
      return std::ranges::all_of(node.parts, matches);
    case Node::Kind::kAny:
      return std::ranges::any_of(node.parts, matches);
    case Node::Kind::kNot:
      return !matches(node.parts.front());
    case Node::Kind::kField:
      return matches_field(node, row);
    case Node::Kind::kWord:
      return matches_word(node.text, row);
  }
  return false;
}

}  // namespace

Result<Filter> Filter::parse(std::string_view text) {
  ASSIGN_OR_RETURN(auto root, parse_filter(text));
  return Filter(std::string(text), std::move(root));
}

bool Filter::matches(const Row& row) const { return matches_node(*root_, row); }

bool matches_wildcards(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last one, and what it has taken so far
  std::size_t taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<FilterField> filter_fields() {
  std::vector<FilterField> all;
  for (const auto& field : fields()) all.push_back({field.name, field.what});
  return all;
}

}  // namespace tranche::top
