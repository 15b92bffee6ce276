#pragma once
// Compares names for which upper and lower case of ASCII letters are the same.

#include <algorithm>
#include <string_view>

namespace tranche {

inline bool same_without_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace tranche
