#pragma once
// CEL tokens as far as lint needs them: words, texts, numbers, operators, with their positions in
// the expression. Source: the CEL specification (github.com/google/cel-spec, doc/langdef.md),
// lexis.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::lint {

struct CelToken {
  enum class Kind { kWord, kText, kNumber, kSign };
  Kind kind = Kind::kSign;
  std::size_t begin = 0;  // bytes of the expression
  std::size_t end = 0;
  std::string text;  // for kText the text between the quotes

  bool is(std::string_view sign) const { return kind == Kind::kSign && text == sign; }
  bool is_word(std::string_view word) const { return kind == Kind::kWord && text == word; }
};

// kInvalidArgument: an unclosed text or bracket, or a character that CEL does not have.
Result<std::vector<CelToken>> cel_tokens(std::string_view expression);

}  // namespace tranche::lint
