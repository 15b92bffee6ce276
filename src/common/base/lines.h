#pragma once
// The lines of a text that is in memory as a whole. Files of /proc and what we store have one entry
// a line.

#include <algorithm>
#include <string_view>

namespace tranche {

// Takes the first line out of `text`, and returns it without its end. The last one may have none.
inline std::string_view take_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const auto line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace tranche
