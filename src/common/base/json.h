#pragma once
// Reads JSON in place. parse() checks the whole text once; views then point into it. Only strings
// that a caller asks for are copied. So a list of thousands of objects takes no more memory than
// its text, and an object can be cut out of it exactly as it was sent.
//
// As strict as RFC 8259 (UTF-8, no comments, no trailing commas), and at most kMaxDepth levels
// deep. If a key occurs twice, the last one counts, as in Go's decoder. A view must not outlive its
// text.

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

  // The member `key` of an object. nullopt: it is absent, or this is not an object.
  std::optional<View> find(std::string_view key) const;
  // Follows `path` from member to member by find().
  std::optional<View> at(std::initializer_list<std::string_view> path) const;
  // All members in the order of the text, including duplicate keys; empty if this is not an object.
  std::vector<Member> members() const;
  // Empty if this is not an array.
  std::vector<View> elements() const;

  // These give nullopt for a value of another kind.
  // A lone surrogate (\ud800) becomes U+FFFD, as in Go.
  std::optional<std::string> as_string() const;
  std::optional<bool> as_bool() const;
  // An integer written without fraction or exponent.
  std::optional<std::int64_t> as_int() const;
  std::optional<std::uint64_t> as_uint() const;
  // The nearest double to any number within the range of a double.
  std::optional<double> as_double() const;

 private:
  friend Result<View> parse(std::string_view text);
  friend Result<View> parse_strict(std::string_view text);
  explicit View(std::string_view text) : text_(text) {}

  std::string_view text_ = "null";
};

struct Member {
  std::string key;
  View value;
  // Where the member stands in the object's text: from the key's quote to the value's end.
  std::size_t begin = 0;
  std::size_t end = 0;
};

// kInvalidArgument, with the byte offset of the error.
Result<View> parse(std::string_view text);
// Like parse(), but also refuses what cannot be represented: half of a surrogate pair, or a number
// beyond the range of a double.
Result<View> parse_strict(std::string_view text);

}  // namespace tranche::json
