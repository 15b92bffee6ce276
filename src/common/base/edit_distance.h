#pragma once
// For "did you mean ...": finds the known word that is nearest to a misspelt one.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tranche {

// Levenshtein distance of the two words; ASCII case does not count. Takes O(|a| * |b|) steps.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate with the smallest distance to `word`; of several, the first. nullopt: for none is
// `word` a likely misspelling (a distance up to a third of the word's letters, or two).
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates);

// "table, json or yaml": the words that one may write instead.
std::string either(std::span<const std::string_view> words);

}  // namespace tranche
