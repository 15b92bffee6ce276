#include "base/unknown_words.h"

#include <string_view>
#include <vector>

#include "base/edit_distance.h"

namespace tranche {
namespace {

constexpr std::size_t kLongest = 80;

std::string quoted(std::string_view word) {
  return "\"" + std::string(word.substr(0, kLongest)) + "\"";
}

}  // namespace

std::string unknown_words(std::span<const std::string> words, std::span<const std::string> known) {
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  std::string text;
  for (std::string_view word : words) {
    const bool is_flag = word.starts_with('-');
    if (is_flag) word = word.substr(0, word.find('='));
    text += (is_flag ? "unknown flag " : "unknown command ") + quoted(word);
    if (const auto near = nearest(word, candidates)) {
      text += "; did you mean " + quoted(*near) + "?";
    }
    text += '\n';
  }
  return text;
}

}  // namespace tranche
