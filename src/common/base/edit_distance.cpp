#include "base/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tranche {
namespace {

// A longer word is never a misspelling of ours, and the time grows with the square of the length.
constexpr std::size_t kLongestWord = 100;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Of words that are equally near the one that begins alike is meant: "limt" is "limit", not "lint".
std::size_t common_beginning(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row.back();
}

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kLongestWord) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t limit = std::max<std::size_t>(2, word.size() / 3);
  for (const auto candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    // A word of which every letter must change is no misspelling.
    if (distance >= std::min(word.size(), candidate.size())) continue;
    const bool is_nearer = distance < limit || !best ||
                           common_beginning(word, candidate) > common_beginning(word, *best);
    if (distance <= limit && is_nearer) {
      limit = distance;
      best = candidate;
    }
  }
  return best;
}

std::string either(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace tranche
