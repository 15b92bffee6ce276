#pragma once
// The response of the control daemon and its servers to a command, and its words.

#include <string>
#include <utility>
#include <vector>

namespace tranche::sim::mps {

// The text of a response, and whether the command was executed.
struct Answer {
  bool ok = true;
  std::string text;
};

inline Answer refuse(std::string why) { return {.ok = false, .text = std::move(why) + "\n"}; }

// Empty after the last one.
inline std::string word_at(const std::vector<std::string>& words, std::size_t at) {
  return at < words.size() ? words[at] : std::string();
}

}  // namespace tranche::sim::mps
