#pragma once
// Writing and reading a value by one list of its fields: `visit(visitor, value)` calls
// visitor("name", value.field) for each. What is unknown, empty, false or 0 is not written (but an
// optional 0 is), and read back as that.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_fields.h"
#include "base/json_value.h"
#include "base/printable.h"
#include "base/result.h"
#include "cluster/time.h"

namespace tranche::usage {

// An enum with words: to_string(), and parse_word(word, optional), false if there is no such word.
template <class Enum>
concept Word = std::is_enum_v<Enum>;

// Whether `fields` are of this version of a format; if not, they are refused.
bool check_version(const json::Fields& fields, std::string_view version);
// The object that is `text`. kInvalidArgument: it is longer than `longest`, a power of 2 above a
// MiB, is no JSON, or none with an object.
Result<json::View> root_of(std::string_view text, std::string_view version, std::size_t longest);

class JsonWriter {
 public:
  json::Value take() { return std::move(json_); }

  template <class T>
  void operator()(std::string_view key, const std::optional<T>& field) {
    if (field) json_[key] = plain(*field);
  }
  template <class T>
  void operator()(std::string_view key, const std::vector<T>& field) {
    if (field.empty()) return;
    auto list = json::Value::array();
    for (const auto& one : field) list.push_back(plain(one));
    json_[key] = std::move(list);
  }
  void operator()(std::string_view key, const std::string& field) {
    if (!field.empty()) json_[key] = field;
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  void operator()(std::string_view key, T field) {
    if (field != T{}) json_[key] = field;
  }
  template <Word T>
  void operator()(std::string_view key, T field) {
    json_[key] = to_string(field);
  }
  void operator()(std::string_view key, cluster::WallTime field) {
    json_[key] = cluster::micro_time(field);
  }
  template <class T>
    requires std::is_class_v<T>
  void operator()(std::string_view key, const T& field) {
    json_[key] = plain(field);
  }

 private:
  template <class T>
  static json::Value plain(const T& one) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return one;
    } else if constexpr (std::is_same_v<T, std::chrono::nanoseconds>) {
      return one.count();
    } else {
      JsonWriter writer;
      visit(writer, one);
      return writer.take();
    }
  }

  json::Value json_ = json::Value::object();
};

class JsonReader {
 public:
  JsonReader(const json::Fields& fields, std::size_t most) : fields_(fields), most_(most) {}

  void operator()(std::string_view key, std::string& field) const { field = fields_.text(key); }
  void operator()(std::string_view key, bool& field) const { field = fields_.boolean(key); }
  template <class T>
    requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
  void operator()(std::string_view key, T& field) const {
    field = fields_.maybe<T>(key).value_or(T{});
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  void operator()(std::string_view key, std::optional<T>& field) const {
    field = fields_.maybe<T>(key);
  }
  void operator()(std::string_view key, std::optional<std::chrono::nanoseconds>& field) const {
    if (const auto found = fields_.maybe<std::int64_t>(key)) field.emplace(*found);
  }
  template <class T>
    requires(std::is_class_v<T> && !std::is_same_v<T, std::chrono::nanoseconds>)
  void operator()(std::string_view key, std::optional<T>& field) const {
    if (fields_.has(key)) read(fields_.object(key), field.emplace());
  }
  void operator()(std::string_view key, std::vector<std::string>& field) const {
    if (fields_.has(key)) field = fields_.need<std::vector<std::string>>(key);
  }
  template <class T>
  void operator()(std::string_view key, std::vector<T>& field) const {
    const auto list = fields_.list(key);
    if (list.size() > most_) return fields_.refuse(key, "has too many entries");
    field.reserve(list.size());
    for (const auto& one : list) read(one, field.emplace_back());
  }
  template <Word T>
  void operator()(std::string_view key, T& field) const {
    const auto word = fields_.text(key);
    std::optional<T> value;
    if (parse_word(word, value)) {
      field = *value;
    } else {
      fields_.refuse(key, "is no known word: \"" + printable(word, 80) + '"');
    }
  }
  void operator()(std::string_view key, cluster::WallTime& field) const {
    const auto time = cluster::parse_time(fields_.text(key));
    if (time) {
      field = *time;
    } else {
      fields_.refuse(key, "is no time");
    }
  }
  template <class T>
    requires(std::is_class_v<T> && !std::is_same_v<T, std::string>)
  void operator()(std::string_view key, T& field) const {
    if (fields_.has(key)) read(fields_.object(key), field);
  }

 private:
  template <class T>
  void read(const json::Fields& fields, T& value) const {
    const JsonReader reader(fields, most_);
    visit(reader, value);
  }

  const json::Fields& fields_;
  std::size_t most_;
};

}  // namespace tranche::usage
