#pragma once
// What the control daemon and its servers answer to a command, and the words of one.

#include <string>
#include <utility>
#include <vector>

namespace tranche::sim::mps {

// The text of an answer, and whether the command was obeyed.
struct Answer {
  bool ok = true;
  std::string text;
};

inline Answer refuse(std::string why) { return {.ok = false, .text = std::move(why) + "\n"}; }

// Empty behind the last one.
inline std::string word_at(const std::vector<std::string>& words, std::size_t at) {
  return at < words.size() ? words[at] : std::string();
}

}  // namespace tranche::sim::mps
