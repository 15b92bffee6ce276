#include "lab/demo/text.h"

#include <algorithm>

namespace tranche::demo {
namespace {

constexpr std::string_view kGap = "   ";

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, starts_code_point));
}

std::string pad(std::string_view text, std::size_t width) {
  std::string out(text);
  const std::size_t seen = width_of(text);
  if (seen < width) out.append(width - seen, ' ');
  return out;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && width_of(line) + 1 + width_of(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  lines.push_back(std::move(line));
  return lines;
}

const Symbols& ascii_symbols() {
  static constexpr Symbols kSymbols{
      .tick = "ok", .cross = "--", .arrow = "->", .held = "#", .free = "."};
  return kSymbols;
}

const Symbols& unicode_symbols() {
  static constexpr Symbols kSymbols{
      .tick = "✔", .cross = "✖", .arrow = "→", .held = "■", .free = "□"};
  return kSymbols;
}

std::string bar(const Symbols& symbols, int held, int total) {
  std::string out;
  for (int i = 0; i < total; ++i) out += i < held ? symbols.held : symbols.free;
  return out;
}

std::vector<std::string> Table::lines() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths.at(i) = std::max(widths.at(i), width_of(row[i]));
    }
  }
  std::vector<std::string> out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += kGap;
      const std::string room(widths[i] - width_of(row[i]), ' ');
      line += columns_[i] == Align::kRight ? room + row[i] : row[i] + room;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace tranche::demo
