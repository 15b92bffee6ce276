#include "cluster/checks.h"

#include <algorithm>
#include <cstddef>

namespace tranche::cluster {
namespace {

constexpr std::size_t kLongestName = 253;
constexpr std::size_t kLongestId = 64;
constexpr std::size_t kLongestLabelValue = 63;

bool is_lower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && is_lower(text.front()) &&
         is_lower(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_lower(c) || c == '-' || c == '.'; });
}

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kLongestId &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || c == '-' || c == '_'; });
}

bool is_label_value(std::string_view text) {
  return !text.empty() && text.size() <= kLongestLabelValue && is_letter(text.front()) &&
         is_letter(text.back()) && std::ranges::all_of(text, [](char c) {
           return is_letter(c) || c == '-' || c == '_' || c == '.';
         });
}

bool is_resource(std::string_view text) {
  const auto slash = text.find('/');
  return slash != std::string_view::npos && is_name(text.substr(0, slash)) &&
         is_label_value(text.substr(slash + 1));
}

}  // namespace tranche::cluster
