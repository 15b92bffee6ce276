#pragma once
// The lines of a text in memory. Files of /proc and our stored files have one entry per
// line.

#include <algorithm>
#include <string_view>

namespace tranche {

// Removes the first line of `text` and returns it without its newline. The last line may have none.
inline std::string_view take_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const auto line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace tranche
