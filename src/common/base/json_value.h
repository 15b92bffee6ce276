#pragma once
// A JSON value that a program builds and writes; json.h reads JSON. It is compiled once, so a file
// that writes JSON only compiles this header. A library of templates would add seconds to the
// compilation of each such file (docs/decisions/0016-json-values.md).
//
//     json::Value pod = {{"name", name}, {"labels", labels}};  // an object: all elements are pairs
//     pod["spec"]["node"] = node;                              // makes what is not there
//     json::Value list = json::Value::array({1, 2});           // an array, whatever stands in it
//
// Members keep the order in which they were added. The interface follows nlohmann's. As there,
// `Value{other}` makes an array of one element: copy with `=`.

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

class View;

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
  // Written with the fewest digits that round-trip, with a point or an exponent. NaN and infinity
  // are written as null.
  Value(std::same_as<double> auto value) : Value(Fraction{value}) {}
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
  // An object if each element is a two-element array whose first element is a string; else an
  // array.
  Value(std::initializer_list<Item> items);

  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(Value other) noexcept;
  ~Value();

  static Value array(std::initializer_list<Item> items = {});
  static Value object();
  // A value from JSON text, which is written unchanged.
  static Value raw(std::string text);
  // A copy of a parsed value, to modify it or to write it in another layout. Numbers keep their
  // text.
  static Value copy(View view);

  // The member `key` of an object; a missing member is added as null. A null value becomes an
  // object first. On any other kind the program aborts: that is a bug.
  Value& operator[](std::string_view key);
  // Appends to an array. A null value becomes an array first. On any other kind the program aborts.
  void push_back(Value value);
  // The number of elements or members; 0 for any other kind.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  enum class Order : std::uint8_t { kKept, kSorted };  // order of members; raw() stays unchanged
  // JSON on one line. Strings may come from outside: bytes that are not UTF-8 become U+FFFD.
  std::string text(Order order = Order::kKept) const;
  // JSON for people: one member or element on each line, indented by two spaces per level.
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

  struct Fraction {
    double value;
  };

  explicit Value(Truth value);
  explicit Value(Fraction value);
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
  mutable Value value_;  // an initializer_list is const, but its elements are moved from
};

}  // namespace tranche::json
