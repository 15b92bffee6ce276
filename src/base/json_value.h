#pragma once
// A JSON value that is built and written; reading is json.h's. Compiled once: a file that writes
// JSON pays for this header alone, where a library of templates costs it seconds
// (docs/decisions/0016-json-values.md).
//
//     json::Value pod = {{"name", name}, {"labels", labels}};  // an object: all elements are pairs
//     pod["spec"]["node"] = node;                              // makes what is not there
//     json::Value list = json::Value::array({1, 2});           // an array, whatever stands in it
//
// Members keep the order in which they came. As with nlohmann's type, from which this one takes its
// spelling, `Value{other}` is an array of one: copy with `=`. No fractions: nothing of ours writes
// any.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tranche::json {

class Value {
 public:
  class Item;  // an element of a list in braces
  struct Member;

  Value() noexcept;  // null
  Value(std::nullptr_t) noexcept;
  template <std::same_as<bool> T>
  Value(T value) : Value(Truth{value}) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Value(T value) : Value(whole(value)) {}
  Value(const char* value);
  Value(std::string_view value);
  Value(std::string value);
  template <class T>
  Value(const std::vector<T>& elements) : Value(array()) {
    for (const auto& element : elements) push_back(element);
  }
  template <class T>
  Value(const std::map<std::string, T>& members) : Value(object()) {
    for (const auto& [key, value] : members) append(key, value);
  }
  // An object where each element is an array of two that begins with a text; else an array.
  Value(std::initializer_list<Item> items);

  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(Value other) noexcept;
  ~Value();

  static Value array(std::initializer_list<Item> items = {});
  static Value object();
  // JSON text, written as it is.
  static Value raw(std::string text);

  // The member, null where there was none. Of an object; null becomes one. Anything else is a
  // mistake of the program's and ends it.
  Value& operator[](std::string_view key);
  // To an array; null becomes one; as above.
  void push_back(Value value);
  // Elements or members; 0 of anything else.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  enum class Order : std::uint8_t { kKept, kSorted };  // of members; raw() stays as it is
  // On one line. Texts come from outside: what is no UTF-8 is written as U+FFFD.
  std::string text(Order order = Order::kKept) const;
  // For people: a member or an element on each line, two spaces deeper at each level.
  std::string lines() const;

 private:
  struct Truth {
    bool value;
  };
  struct Raw {
    std::string text;
  };
  using Array = std::vector<Value>;
  using Object = std::vector<Member>;
  using Data = std::variant<std::nullptr_t, Truth, std::int64_t, std::uint64_t, std::string, Array,
                            Object, Raw>;

  struct Signed {
    std::int64_t value;
  };
  struct Unsigned {
    std::uint64_t value;
  };
  static Signed whole(std::signed_integral auto value) { return {value}; }
  static Unsigned whole(std::unsigned_integral auto value) { return {value}; }

  explicit Value(Truth value);
  explicit Value(Signed value);
  explicit Value(Unsigned value);
  void append(std::string key, Value value);
  bool is_pair() const;
  struct Layout;
  void write(std::string& out, const Layout& layout) const;

  Data data_;
};

struct Value::Member {
  std::string key;
  Value value;
};

class Value::Item {
 public:
  template <class T>
    requires(!std::same_as<std::remove_cvref_t<T>, Item> && std::constructible_from<Value, T>)
  Item(T&& value) : value_(std::forward<T>(value)) {}
  Item(std::initializer_list<Item> items) : value_(items) {}

 private:
  friend class Value;
  mutable Value value_;  // a list in braces is const, and its elements are moved all the same
};

}  // namespace tranche::json
