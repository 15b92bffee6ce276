#pragma once
// "Did you mean ...": the known word nearest to a misspelt one.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace tranche {

// Levenshtein distance of the two words, ASCII case apart, in O(|a| * |b|) steps.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate with the smallest distance to `word`, the first of several; nullopt when none is
// near enough to be a likely misspelling (a third of the word's letters, at least two).
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates);

}  // namespace tranche
