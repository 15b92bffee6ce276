#include "top/view/line.h"

#include <algorithm>

namespace tranche::top {
namespace {

bool begins_sign(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

// The first `count` code points.
std::string_view prefix(std::string_view text, std::size_t count) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!begins_sign(text[i])) continue;
    if (count == 0) return text.substr(0, i);
    --count;
  }
  return text;
}

}  // namespace

std::string text_of(const Line& line) {
  std::string text;
  for (const auto& span : line.spans) text += span.text;
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_sign));
}

std::string fitted(std::string_view text, std::size_t width, Align align, const Signs& signs) {
  const auto wide = columns(text);
  if (wide > width) {
    if (width == 0) return {};
    return std::string(prefix(text, width - 1)) + std::string(signs.cut());
  }
  const std::string blanks(width - wide, ' ');
  return align == Align::kLeft ? std::string(text) + blanks : blanks + std::string(text);
}

std::vector<Line> wrapped(const Line& line, std::size_t width) {
  if (line.spans.size() != 1 || width == 0) return {line};
  std::vector<Line> lines;
  std::string_view rest = line.spans.front().text;
  while (!rest.empty()) {
    auto piece = prefix(rest, width);
    // The last blank, which may stand right behind the piece.
    const auto blank = piece.size() == rest.size() ? 0 : rest.rfind(' ', piece.size());
    const bool breaks = blank != std::string_view::npos && blank > 0;
    if (breaks) piece = rest.substr(0, blank);
    lines.emplace_back().add(std::string(piece), line.spans.front().style);
    rest.remove_prefix(piece.size() + (breaks ? 1 : 0));
  }
  return lines;
}

Line fitted(const Line& line, std::size_t width, const Signs& signs) {
  Line result{.selected = line.selected};
  std::size_t left = width;
  for (const auto& span : line.spans) {
    const auto wide = columns(span.text);
    if (wide > left) {
      result.add(fitted(span.text, left, Align::kLeft, signs), span.style);
      return result;
    }
    result.add(span.text, span.style);
    left -= wide;
  }
  result.add(std::string(left, ' '));
  return result;
}

}  // namespace tranche::top
