#pragma once
// A list in one line of bounded length, for messages.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

namespace tranche {

// "a, b and 3 more": the first `most` of the texts, and how many are left out.
template <class Texts>
std::string first_few(const Texts& texts, std::size_t most) {
  const auto shown = std::min(texts.size(), most);
  const auto end = std::next(texts.begin(), static_cast<std::ptrdiff_t>(shown));
  auto text = fmt::format("{}", fmt::join(texts.begin(), end, ", "));
  if (shown < texts.size()) text += fmt::format(" and {} more", texts.size() - shown);
  return text;
}

}  // namespace tranche
