#pragma once
// Reads the fields of one JSON object. An invalid field gives an error with its path:
// "devices[2].uuid is a number where a text is expected". The first error is kept, and the
// invalid field reads as empty. So a reader asks for all fields and checks for an error
// once, at the end. A number that does not fit is an error too; values are never
// truncated.
//
// There are two ways to read. With `text`, `number`, `list` and so on, a field that is
// absent or null is empty, as in Kubernetes' own types. With `need`, the field must be
// present, as in files that we write ourselves.
//
// The first lookup indexes the object's members, so a reader belongs to one thread.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace tranche::json {

class Fields {
 public:
  using StringMap = std::map<std::string, std::string>;

  // If `object` is not an object, every field is absent. `error` must outlive this reader and all
  // readers made from it. `path`: "spec.mig"; empty at the top.
  Fields(View object, std::string path, std::optional<Error>& error)
      : object_(object), path_(std::move(path)), error_(error) {}

  std::string text(std::string_view key) const;
  bool boolean(std::string_view key) const;
  std::int64_t number(std::string_view key) const;
  StringMap map(std::string_view key) const;
  // An object; empty if absent.
  Fields object(std::string_view key) const;
  // The objects of a list.
  std::vector<Fields> list(std::string_view key) const;

  // nullopt if absent or null. T: see need().
  template <class T>
  std::optional<T> maybe(std::string_view key) const;
  std::optional<std::string> maybe_text(std::string_view key) const;
  std::optional<bool> maybe_boolean(std::string_view key) const;

  // T: a text, a bool, an integer (full range; no fraction, no exponent), a double, a list of
  // texts, or a StringMap. Null is an error.
  template <class T>
  T need(std::string_view key) const;
  // `fallback` if absent. Null is an error.
  template <class T>
  T need_or(std::string_view key, T fallback) const;
  // An integer from `least` to `most`.
  std::int64_t need_number(std::string_view key, std::int64_t least, std::int64_t most) const;
  Fields need_object(std::string_view key) const;
  std::vector<Fields> need_list(std::string_view key) const;
  // Refuses the first key that is absent. A null counts as present.
  void require(std::initializer_list<std::string_view> keys) const;

  View view() const { return object_; }
  bool has(std::string_view key) const { return look_up(key).has_value(); }
  // The key's full path: "spec.mig.strategy".
  std::string path_of(std::string_view key) const;
  // Records that the field is invalid.
  void refuse(std::string_view key, std::string_view why) const;
  // The same, in the caller's own words.
  void refuse(std::string what) const;

 private:
  std::optional<View> look_up(std::string_view key) const;
  std::optional<View> find(std::string_view key, Kind kind) const;
  // The field, which may be null. Refuses it if absent.
  std::optional<View> present(std::string_view key) const;
  bool is(Kind kind, std::string_view key, View value) const;
  std::vector<Fields> objects_of(std::string_view key, View list) const;
  std::int64_t whole(std::string_view key, View value, std::int64_t least, std::int64_t most) const;
  std::uint64_t whole(std::string_view key, View value, std::uint64_t most) const;

  void read(std::string_view key, View value, std::string& out) const;
  void read(std::string_view key, View value, bool& out) const;
  void read(std::string_view key, View value, double& out) const;
  void read(std::string_view key, View value, std::vector<std::string>& out) const;
  void read(std::string_view key, View value, StringMap& out) const;
  template <std::integral T>
  void read(std::string_view key, View value, T& out) const;

  View object_;
  mutable std::optional<std::vector<Member>> members_;  // filled at the first lookup
  std::string path_;
  std::optional<Error>& error_;
};

// The result of `read(fields)` for this object, or the first error.
template <class Read>
auto read_fields(View object, const Read& read) -> Result<decltype(read(std::declval<Fields>()))> {
  std::optional<Error> error;
  auto value = read(Fields(object, "", error));
  if (error) return std::unexpected(*std::move(error));
  return value;
}

template <class T>
T Fields::need(std::string_view key) const {
  T value{};
  if (const auto found = present(key)) read(key, *found, value);
  return value;
}

template <class T>
T Fields::need_or(std::string_view key, T fallback) const {
  return has(key) ? need<T>(key) : std::move(fallback);
}

template <class T>
std::optional<T> Fields::maybe(std::string_view key) const {
  const auto found = look_up(key);
  if (!found || found->kind() == Kind::kNull) return std::nullopt;
  return need<T>(key);
}

template <std::integral T>
void Fields::read(std::string_view key, View value, T& out) const {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::unsigned_integral<T>) {
    out = static_cast<T>(whole(key, value, Limits::max()));
  } else {
    out = static_cast<T>(whole(key, value, Limits::min(), Limits::max()));
  }
}

}  // namespace tranche::json
