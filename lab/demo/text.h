#pragma once
// Text laid out for people: tables, wrapped lines, a bar of tranches. Pure; widths are in
// characters as seen, so UTF-8 counts by code point (nothing wider than one column is used here).

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tranche::demo {

// Code points of `text`.
std::size_t width_of(std::string_view text);
// `text` with spaces after it up to `width`; longer text stays as it is.
std::string pad(std::string_view text, std::size_t width);

// Breaks at spaces so that no line is longer than `width`, except for a single longer word.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

struct Symbols {
  std::string_view tick;
  std::string_view cross;
  std::string_view arrow;
  std::string_view held;  // a tranche that a Pod holds
  std::string_view free;  // one that nobody holds
};
const Symbols& ascii_symbols();
const Symbols& unicode_symbols();

// One sign for each tranche, those that are held first.
std::string bar(const Symbols& symbols, int held, int total);

class Table {
 public:
  enum class Align { kLeft, kRight };

  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}
  // Missing cells are empty, surplus ones must not be there.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // One line a row, columns three spaces apart, no spaces at the end.
  std::vector<std::string> lines() const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tranche::demo
