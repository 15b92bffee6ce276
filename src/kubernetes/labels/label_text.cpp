#include "labels/label_text.h"

#include <algorithm>

namespace tranche::labels {
namespace {

constexpr std::size_t kMaxValueLength = 63;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_label_character(char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; }

}  // namespace

std::string sanitise(std::string_view text) {
  std::string out;
  bool word_ended = false;
  for (const char c : text) {
    if (c == ' ') {
      word_ended = !out.empty();
    } else if (is_label_character(c)) {
      if (word_ended) out += '-';
      word_ended = false;
      out += c;
    }
  }
  return out;
}

bool is_label_value(std::string_view value) {
  if (value.empty()) return true;
  return value.size() <= kMaxValueLength && is_alphanumeric(value.front()) &&
         is_alphanumeric(value.back()) && std::ranges::all_of(value, is_label_character);
}

}  // namespace tranche::labels
