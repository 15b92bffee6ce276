#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/utf8.h"

namespace tranche::json {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

unsigned hex4(std::string_view digits) {
  unsigned code = 0;
  for (int i = 0; i < 4; ++i) {
    code = code * 16 + static_cast<unsigned>(hex_digit(digits[static_cast<std::size_t>(i)]));
  }
  return code;
}

bool is_high_surrogate(unsigned code) { return code >= 0xD800 && code <= 0xDBFF; }
bool is_low_surrogate(unsigned code) { return code >= 0xDC00 && code <= 0xDFFF; }

// `number` is in JSON syntax. A value too small for a double is nearly 0.
bool fits_double(std::string_view number) {
  double value = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), value).ec == std::errc()) {
    return true;
  }
  return std::isfinite(std::strtod(std::string(number).c_str(), nullptr));
}

// Strict: also numbers that fit a double, and surrogates in pairs.
enum class Rules { kLenient, kStrict };

// Checks a text that may hold anything.
class Checker {
 public:
  Checker(std::string_view text, Rules rules) : text_(text), rules_(rules) {}

  // The value's text; nullopt: it is wrong at at().
  std::optional<std::string_view> whole() {
    space();
    const std::size_t begin = at_;
    if (!value(0)) return std::nullopt;
    const auto found = text_.substr(begin, at_ - begin);
    space();
    if (at_ != text_.size()) return bad("something follows the value"), std::nullopt;
    return found;
  }
  std::size_t at() const { return at_; }
  std::string_view why() const { return why_; }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool end() const { return at_ >= text_.size(); }
  void space() {
    while (!end() && is_space(text_[at_])) ++at_;
  }
  bool bad(std::string_view why) {
    if (why_.empty()) why_ = end() ? "the text ends too early" : why;
    return false;
  }
  bool take(char c) {
    if (end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool value(int depth) {
    if (depth > kMaxDepth) return bad("nested too deep");
    switch (peek()) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"':
        return string();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }
  bool word(std::string_view expected) {
    if (!text_.substr(at_).starts_with(expected)) return bad("no value");
    at_ += expected.size();
    return true;
  }
  bool object(int depth) {
    ++at_;
    space();
    if (take('}')) return true;
    while (true) {
      space();
      if (peek() != '"') return bad("a key is expected");
      if (!string()) return false;
      space();
      if (!take(':')) return bad("':' is expected");
      space();
      if (!value(depth + 1)) return false;
      space();
      if (take('}')) return true;
      if (!take(',')) return bad("',' or '}' is expected");
    }
  }
  bool array(int depth) {
    ++at_;
    space();
    if (take(']')) return true;
    while (true) {
      space();
      if (!value(depth + 1)) return false;
      space();
      if (take(']')) return true;
      if (!take(',')) return bad("',' or ']' is expected");
    }
  }
  bool string() {
    ++at_;
    while (!end()) {
      const char c = text_[at_];
      if (c == '"') return ++at_, true;
      if (static_cast<unsigned char>(c) < 0x20) return bad("a control character in a string");
      if (c == '\\') {
        if (!escape()) return false;
        continue;
      }
      const auto step = utf8_step(text_.substr(at_));
      if (!step.is_valid) return bad("no UTF-8");
      at_ += step.length;
    }
    return bad("");
  }
  bool escape() {
    ++at_;
    if (end()) return bad("");
    const char c = text_[at_++];
    if (c != 'u') {
      return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos ||
             bad("no such escape");
    }
    return four_digits() && (rules_ == Rules::kLenient || pair(hex4(text_.substr(at_ - 4))));
  }
  bool four_digits() {
    for (int i = 0; i < 4; ++i) {
      if (end() || hex_digit(text_[at_]) < 0) return bad("four hexadecimal digits are expected");
      ++at_;
    }
    return true;
  }
  // After an escape for `code`: what must follow it.
  bool pair(unsigned code) {
    if (is_low_surrogate(code)) return bad("half of a pair of surrogates");
    if (!is_high_surrogate(code)) return true;
    if (!text_.substr(at_).starts_with("\\u")) return bad("half of a pair of surrogates");
    at_ += 2;
    if (!four_digits()) return false;
    return is_low_surrogate(hex4(text_.substr(at_ - 4))) || bad("half of a pair of surrogates");
  }
  bool digits() {
    if (!is_digit(peek())) return bad("a digit is expected");
    while (is_digit(peek())) ++at_;
    return true;
  }
  bool number() {
    const std::size_t begin = at_;
    if (!written_number()) return false;
    if (rules_ == Rules::kLenient || fits_double(text_.substr(begin, at_ - begin))) return true;
    at_ = begin;
    return bad("a number that no program can hold");
  }
  bool written_number() {
    const bool minus = take('-');
    if (!is_digit(peek())) return bad(minus ? "a digit is expected" : "no value");
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      return digits();
    }
    return true;
  }

  std::string_view text_;
  Rules rules_;
  std::size_t at_ = 0;
  std::string_view why_;
};

// Walks over a text that was checked, so it checks nothing again.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  std::size_t at() const { return at_; }
  char next() {
    while (is_space(text_[at_])) ++at_;
    return text_[at_];
  }
  void step() { ++at_; }
  // The value that begins here.
  std::string_view value() {
    const char first = next();
    const std::size_t begin = at_;
    if (first == '"') {
      skip_string();
    } else if (first == '{' || first == '[') {
      skip_nested();
    } else {
      while (at_ < text_.size() && !is_space(text_[at_]) &&
             std::string_view(",]}").find(text_[at_]) == std::string_view::npos) {
        ++at_;
      }
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  void skip_string() {
    for (++at_; text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }
  void skip_nested() {
    int open = 0;
    do {
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
        continue;
      }
      if (c == '{' || c == '[') ++open;
      if (c == '}' || c == ']') --open;
      ++at_;
    } while (open > 0);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

void append_utf8(std::string& out, unsigned code) {
  const auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | (code >> 6U));
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | (code >> 12U));
    put(0x80U | ((code >> 6U) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | (code >> 18U));
    put(0x80U | ((code >> 12U) & 0x3FU));
    put(0x80U | ((code >> 6U) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

// The code point of the escape at the start of `rest` (after "\u"), and the escape's length.
std::pair<unsigned, std::size_t> unicode_escape(std::string_view rest) {
  constexpr unsigned kReplacement = 0xFFFD;
  const unsigned high = hex4(rest);
  if (is_low_surrogate(high)) return {kReplacement, 4};
  if (!is_high_surrogate(high)) return {high, 4};
  if (!rest.substr(4).starts_with("\\u")) return {kReplacement, 4};
  const unsigned low = hex4(rest.substr(6));
  if (!is_low_surrogate(low)) return {kReplacement, 4};
  return {0x10000 + ((high - 0xD800) << 10U) + (low - 0xDC00), 10};
}

// The string that a validated JSON string represents; `quoted` includes the quotes.
std::string unquote(std::string_view quoted) {
  const auto inner = quoted.substr(1, quoted.size() - 2);
  std::string out;
  out.reserve(inner.size());
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != '\\') {
      out += inner[i];
      continue;
    }
    const char c = inner[++i];
    constexpr std::string_view kFrom = "bfnrt";
    constexpr std::string_view kTo = "\b\f\n\r\t";
    if (c == 'u') {
      const auto [code, length] = unicode_escape(inner.substr(i + 1));
      append_utf8(out, code);
      i += length;
    } else if (const auto known = kFrom.find(c); known != std::string_view::npos) {
      out += kTo[known];
    } else {
      out += c;
    }
  }
  return out;
}

bool same_key(std::string_view quoted, std::string_view key) {
  if (quoted.find('\\') != std::string_view::npos) return unquote(quoted) == key;
  return quoted.substr(1, quoted.size() - 2) == key;
}

// Calls `use(key with quotes, value, begin, end)` for every member.
template <class Use>
void walk_object(std::string_view text, const Use& use) {
  Walker walk(text);
  walk.next();
  walk.step();
  while (walk.next() != '}') {
    const std::size_t begin = walk.at();
    const auto key = walk.value();
    walk.next();
    walk.step();  // ':'
    const auto value = walk.value();
    use(key, value, begin, walk.at());
    if (walk.next() == ',') walk.step();
  }
}

template <class T>
std::optional<T> number_of(View view) {
  if (view.kind() != Kind::kNumber) return std::nullopt;
  T value = 0;
  const char* const begin = view.text().data();
  const char* const end = begin + view.text().size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// Where the value is in the text, without space around it.
Result<std::string_view> checked_place(std::string_view text, Rules rules) {
  Checker checker(text, rules);
  if (const auto found = checker.whole()) return *found;
  return fail(Code::kInvalidArgument,
              fmt::format("no JSON: byte {}: {}", checker.at(), checker.why()));
}

}  // namespace

std::string_view describe(Kind kind) {
  switch (kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "true or false";
    case Kind::kNumber:
      return "a number";
    case Kind::kString:
      return "a text";
    case Kind::kArray:
      return "a list";
    case Kind::kObject:
      return "an object";
  }
  return "unknown";
}

Kind View::kind() const {
  switch (text_.front()) {
    case '{':
      return Kind::kObject;
    case '[':
      return Kind::kArray;
    case '"':
      return Kind::kString;
    case 't':
    case 'f':
      return Kind::kBool;
    case 'n':
      return Kind::kNull;
    default:
      return Kind::kNumber;
  }
}

std::optional<View> View::find(std::string_view key) const {
  std::optional<View> found;
  if (kind() != Kind::kObject) return found;
  walk_object(text_,
              [&](std::string_view quoted, std::string_view value, std::size_t, std::size_t) {
                if (same_key(quoted, key)) found = View(value);
              });
  return found;
}

std::optional<View> View::at(std::initializer_list<std::string_view> path) const {
  std::optional<View> found = *this;
  for (const auto key : path) {
    if (found) found = found->find(key);
  }
  return found;
}

std::vector<Member> View::members() const {
  std::vector<Member> found;
  if (kind() != Kind::kObject) return found;
  walk_object(
      text_, [&](std::string_view quoted, std::string_view value, std::size_t begin,
                 std::size_t end) { found.push_back({unquote(quoted), View(value), begin, end}); });
  return found;
}

std::vector<View> View::elements() const {
  std::vector<View> found;
  if (kind() != Kind::kArray) return found;
  Walker walk(text_);
  walk.step();
  while (walk.next() != ']') {
    found.push_back(View(walk.value()));
    if (walk.next() == ',') walk.step();
  }
  return found;
}

std::optional<std::string> View::as_string() const {
  if (kind() != Kind::kString) return std::nullopt;
  return unquote(text_);
}

std::optional<bool> View::as_bool() const {
  if (kind() != Kind::kBool) return std::nullopt;
  return text_ == "true";
}

std::optional<std::int64_t> View::as_int() const { return number_of<std::int64_t>(*this); }

std::optional<std::uint64_t> View::as_uint() const {
  if (text_ == "-0") return 0;
  return number_of<std::uint64_t>(*this);
}

std::optional<double> View::as_double() const { return number_of<double>(*this); }

Result<View> parse(std::string_view text) {
  ASSIGN_OR_RETURN(const auto place, checked_place(text, Rules::kLenient));
  return View(place);
}

Result<View> parse_strict(std::string_view text) {
  ASSIGN_OR_RETURN(const auto place, checked_place(text, Rules::kStrict));
  return View(place);
}

}  // namespace tranche::json
