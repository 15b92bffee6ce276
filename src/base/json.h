#pragma once
// JSON read in place: a text is checked once as a whole, then looked at through views that point
// into it. Nothing is copied but the strings that are asked for, so that a list of thousands of
// objects costs its own text and no more, and an object can be cut out of it as it was sent.
//
// Strict as RFC 8259 (UTF-8, no comments, no trailing commas), at most kMaxDepth levels deep. Of
// equal keys the last counts, as in Go's decoder. A view must not outlive its text.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::json {

enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

// "null", "a number", "a list", ...: for messages.
std::string_view describe(Kind kind);

inline constexpr int kMaxDepth = 256;

struct Member;

class View {
 public:
  View() = default;  // null

  Kind kind() const;
  // The value's own text, without space around it.
  std::string_view text() const { return text_; }

  // Of an object; nullopt when absent or when this is no object.
  std::optional<View> find(std::string_view key) const;
  // find() of one key after the other.
  std::optional<View> at(std::initializer_list<std::string_view> path) const;
  // In the order of the text, equal keys included; empty when this is no object.
  std::vector<Member> members() const;
  // Empty when this is no array.
  std::vector<View> elements() const;

  // nullopt when it is something else. A lone surrogate (\ud800) becomes U+FFFD, as in Go.
  std::optional<std::string> as_string() const;
  std::optional<bool> as_bool() const;
  // Whole numbers written without fraction and exponent.
  std::optional<std::int64_t> as_int() const;

 private:
  friend Result<View> parse(std::string_view text);
  explicit View(std::string_view text) : text_(text) {}

  std::string_view text_ = "null";
};

struct Member {
  std::string key;
  View value;
  // The member's place in the object's text, from the key's quote to the value's end.
  std::size_t begin = 0;
  std::size_t end = 0;
};

// kInvalidArgument, with the byte where it goes wrong.
Result<View> parse(std::string_view text);

}  // namespace tranche::json
