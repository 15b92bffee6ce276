#include "explain/lint/cel_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "explain/lint/place.h"

namespace tranche::lint {
namespace {

constexpr std::array<std::string_view, 27> kSigns = {
    ".?", "[?", "==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/",
    "%",  "!",  "?",  ":",  ",",  ".",  "(",  ")",  "[", "]", "{", "}", "="};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_begin(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class CelReader {
 public:
  explicit CelReader(std::string_view text) : text_(text) {}

  Result<std::vector<CelToken>> read() {
    while (at_ < text_.size()) {
      if (std::string_view(" \t\r\n\f").find(text_[at_]) != std::string_view::npos) {
        ++at_;
      } else if (text_.substr(at_).starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        TRY(token());
      }
    }
    if (!open_.empty()) {
      return fail(Code::kInvalidArgument, fmt::format("a \"{}\" is not closed", open_.back()),
                  "close it");
    }
    return std::move(tokens_);
  }

 private:
  Result<void> token() {
    const char c = text_[at_];
    if (is_digit(c)) return number();
    const auto prefix = std::min(text_.find_first_of("'\"", at_), text_.size());
    if (prefix - at_ <= 2 && prefix < text_.size() &&
        std::ranges::all_of(
            text_.substr(at_, prefix - at_),
            [](char one) {
              return std::string_view("rRbB").find(one) != std::string_view::npos;
            })) {
      return quoted(prefix);
    }
    if (is_word_begin(c)) return word();
    return sign();
  }

  Result<void> word() {
    auto end = at_;
    while (end < text_.size() && (is_word_begin(text_[end]) || is_digit(text_[end]))) ++end;
    add(CelToken::Kind::kWord, end, std::string(text_.substr(at_, end - at_)));
    return {};
  }

  Result<void> number() {
    auto end = at_;
    const auto is_part = [&](std::size_t i) {
      const char c = text_[i];
      if (is_digit(c) || is_word_begin(c)) return true;
      const bool fraction = c == '.' && i + 1 < text_.size() && is_digit(text_[i + 1]);
      const bool exponent = (c == '+' || c == '-') && i > at_ &&
                            (text_[i - 1] == 'e' || text_[i - 1] == 'E') &&
                            !text_.substr(at_).starts_with("0x");
      return fraction || exponent;
    };
    while (end < text_.size() && is_part(end)) ++end;
    add(CelToken::Kind::kNumber, end, std::string(text_.substr(at_, end - at_)));
    return {};
  }

  Result<void> quoted(std::size_t begin) {
    const bool raw = text_.substr(at_, begin - at_).find_first_of("rR") != std::string_view::npos;
    const char mark = text_[begin];
    const std::string triple(3, mark);
    const auto quote = text_.substr(begin).starts_with(triple) ? triple : std::string(1, mark);
    std::string inner;
    for (auto i = begin + quote.size(); i < text_.size(); ++i) {
      if (text_.substr(i).starts_with(quote)) {
        add(CelToken::Kind::kText, i + quote.size(), std::move(inner));
        return {};
      }
      // The escape's meaning does not matter: no name has one.
      if (!raw && text_[i] == '\\' && i + 1 < text_.size()) inner += text_[i++];
      inner += text_[i];
    }
    return fail(
        Code::kInvalidArgument,
        fmt::format("the text that begins with {} is not closed", shown(text_.substr(at_, 20))),
        fmt::format("close it with {}", quote));
  }

  Result<void> sign() {
    const auto rest = text_.substr(at_);
    const auto found =
        std::ranges::find_if(kSigns, [&](std::string_view one) { return rest.starts_with(one); });
    if (found == kSigns.end() || *found == "=") {
      return fail(Code::kInvalidArgument,
                  fmt::format("\"{}\" is no sign of CEL", shown(rest.substr(0, 1))),
                  rest.starts_with("=") ? "write == to compare" : "remove it");
    }
    TRY(bracket(found->front()));
    add(CelToken::Kind::kSign, at_ + found->size(), std::string(*found));
    return {};
  }

  Result<void> bracket(char c) {
    constexpr std::string_view kOpen = "([{";
    constexpr std::string_view kClose = ")]}";
    if (kOpen.find(c) != std::string_view::npos) open_ += c;
    const auto which = kClose.find(c);
    if (which == std::string_view::npos) return {};
    if (open_.empty() || open_.back() != kOpen[which]) {
      return fail(Code::kInvalidArgument, fmt::format("a \"{}\" closes nothing", c),
                  "open it, or remove it");
    }
    open_.pop_back();
    return {};
  }

  void add(CelToken::Kind kind, std::size_t end, std::string text) {
    tokens_.push_back({.kind = kind, .begin = at_, .end = end, .text = std::move(text)});
    at_ = end;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string open_;
  std::vector<CelToken> tokens_;
};

}  // namespace

Result<std::vector<CelToken>> cel_tokens(std::string_view expression) {
  return CelReader(expression).read();
}

}  // namespace tranche::lint
