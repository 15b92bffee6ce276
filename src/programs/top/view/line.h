#pragma once
// Lines of styled text, as wide as they are told to be. Text that came from outside is printable
// ASCII here (base/printable.h), and each of our own signs takes one column: so columns are code
// points.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tranche::top {

// What a piece of text is. The screen chooses a colour for each.
enum class Style {
  kPlain,
  kDim,     // of little interest: 0, what does not apply
  kStrong,  // names of nodes and GPUs
  kHeader,  // of a column
  kGood,
  kWarning,
  kBad,
  kUnknown,
  kContainers,  // parts of a GPU's memory
  kHost,
  kUnattributed,
  kReserved,
};

struct Span {
  std::string text;
  Style style = Style::kPlain;
  bool operator==(const Span&) const = default;
};

struct Line {
  std::vector<Span> spans{};
  bool selected = false;

  void add(std::string text, Style style = Style::kPlain) {
    if (!text.empty()) spans.push_back({std::move(text), style});
  }
};

// Without styles, and without blanks at the end.
std::string text_of(const Line& line);

// Which signs the terminal has.
struct Signs {
  bool ascii = false;

  std::string_view open() const { return ascii ? "-" : "▾"; }
  std::string_view closed() const { return ascii ? "+" : "▸"; }
  std::string_view cut() const { return ascii ? "~" : "…"; }
  std::string_view dot() const { return ascii ? "|" : "·"; }
};

std::size_t columns(std::string_view text);
// Exactly `width` columns: cut, or filled with blanks on the right, or on the left.
enum class Align { kLeft, kRight };
std::string fitted(std::string_view text, std::size_t width, Align align, const Signs& signs);
// A line of one span as several that are at most `width` columns wide, broken at blanks where there
// are some.
std::vector<Line> wrapped(const Line& line, std::size_t width);
// The whole line exactly `width` columns wide.
Line fitted(const Line& line, std::size_t width, const Signs& signs);

}  // namespace tranche::top
