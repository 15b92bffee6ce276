#pragma once
// Makes text from an untrusted source (the name of a process, of a control group, of a file in an
// image) fit for a log line, an Event or a terminal: without newlines and control sequences.

#include <algorithm>
#include <string>
#include <string_view>

namespace tranche {

// At most `most` bytes of `text`, with a '?' for each byte that is not printable ASCII.
inline std::string printable(std::string_view text, std::size_t most = std::string_view::npos) {
  std::string result(text.substr(0, most));
  std::ranges::replace_if(result, [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

}  // namespace tranche
