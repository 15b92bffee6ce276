#pragma once
// The words of an enum, by a table of pairs {value, word}.

#include <optional>
#include <string_view>

namespace tranche::usage {

// Empty: the value is not in the table.
template <class Table>
std::string_view word_in(const Table& table, auto value) {
  for (const auto& [one, word] : table) {
    if (one == value) return word;
  }
  return "";
}

// False, and nullopt: the word is not in the table.
template <class Table, class Enum>
bool find_word(const Table& table, std::string_view word, std::optional<Enum>& value) {
  value.reset();
  for (const auto& [one, known] : table) {
    if (word == known) value = one;
  }
  return value.has_value();
}

}  // namespace tranche::usage
