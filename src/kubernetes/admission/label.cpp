#include "admission/label.h"

#include <fmt/format.h>

#include "base/checksum.h"

namespace tranche::admission {
namespace {

constexpr std::size_t kLongestLabel = 63;

std::string cut(std::string label, std::size_t length) {
  if (label.size() > length) label.resize(length);
  while (label.ends_with('-')) label.pop_back();
  return label;
}

}  // namespace

std::string dns_label(std::string_view text) {
  std::string label;
  for (const char c : text) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool is_kept = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (is_kept) label += lower;
    if (!is_kept && !label.empty() && !label.ends_with('-')) label += '-';
  }
  if (label.size() <= kLongestLabel) return cut(label, kLongestLabel);
  const auto end = fmt::format("-{:08x}", static_cast<std::uint32_t>(checksum(text)));
  return cut(label, kLongestLabel - end.size()) + end;
}

std::string numbered_label(const std::string& label, int number) {
  if (number == 1) return label;
  const auto end = fmt::format("-{}", number);
  return cut(label, kLongestLabel - end.size()) + end;
}

}  // namespace tranche::admission
