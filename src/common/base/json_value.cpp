#include "base/json_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/json.h"
#include "base/utf8.h"

namespace tranche::json {
namespace {

void write_string(std::string& out, std::string_view text) {
  constexpr std::string_view kNamed = "\"\\\b\f\n\r\t";
  constexpr std::string_view kNames = "\"\\bfnrt";
  out += '"';
  while (!text.empty()) {
    const auto step = utf8_step(text);
    const char c = text.front();
    if (!step.is_valid) {
      out += "\xEF\xBF\xBD";
    } else if (const auto named = kNamed.find(c); named != std::string_view::npos) {
      out += {'\\', kNames[named]};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += text.substr(0, step.length);
    }
    text.remove_prefix(step.length);
  }
  out += '"';
}

// The shortest text, as nlohmann's library writes it: 0.0, 1.5, 0.0001, 1e-05, 1e+15.
std::string fraction_text(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 32> buffer = {};
  const auto written =
      std::to_chars(buffer.begin(), buffer.end(), std::abs(value), std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(written.ptr - buffer.data()));
  const auto mark = text.find('e');
  std::string digits(text.substr(0, mark));
  std::erase(digits, '.');
  int exponent = 0;  // of the first digit
  const auto power = text.substr(mark + (text[mark + 1] == '+' ? 2 : 1));
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  const std::string sign = std::signbit(value) ? "-" : "";
  if (exponent >= 15 || exponent < -4) {
    if (digits.size() > 1) digits.insert(1, 1, '.');
    return fmt::format("{}{}e{}{:02}", sign, digits, exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<std::size_t>(-exponent) - 1, '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) digits.resize(whole + 1, '0');
  return sign + digits.insert(whole, 1, '.');
}

}  // namespace

Value::Value() noexcept = default;
Value::Value(std::nullptr_t) noexcept {}
Value::Value(Truth value) : data_(value) {}
Value::Value(Signed value) : data_(value.value) {}
Value::Value(Unsigned value) : data_(value.value) {}
Value::Value(Fraction value) : data_(Raw{fraction_text(value.value)}) {}
Value::Value(const char* value) : data_(std::string(value)) {}
Value::Value(std::string_view value) : data_(std::string(value)) {}
Value::Value(std::string value) : data_(std::move(value)) {}
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value::~Value() = default;

Value& Value::operator=(Value other) noexcept {
  data_.swap(other.data_);
  return *this;
}

Value::Value(std::initializer_list<Item> items) {
  const bool is_object =
      std::ranges::all_of(items, [](const Item& item) { return item.value_.is_pair(); });
  if (!is_object) {
    *this = array(items);
    return;
  }
  Object members;
  members.reserve(items.size());
  for (const Item& item : items) {
    auto& pair = std::get<Array>(item.value_.data_);
    members.push_back({std::move(std::get<std::string>(pair[0].data_)), std::move(pair[1])});
  }
  data_ = std::move(members);
}

bool Value::is_pair() const {
  const auto* array = std::get_if<Array>(&data_);
  return array != nullptr && array->size() == 2 &&
         std::holds_alternative<std::string>(array->front().data_);
}

Value Value::array(std::initializer_list<Item> items) {
  Array elements;
  elements.reserve(items.size());
  for (const Item& item : items) elements.push_back(std::move(item.value_));
  Value value;
  value.data_ = std::move(elements);
  return value;
}

Value Value::object() {
  Value value;
  value.data_ = Object();
  return value;
}

Value Value::raw(std::string text) {
  Value value;
  value.data_ = Raw{std::move(text)};
  return value;
}

Value Value::copy(View view) {
  switch (view.kind()) {
    case Kind::kNull:
      return nullptr;
    case Kind::kString:
      return view.as_string().value_or("");
    case Kind::kArray: {
      Value list = array();
      for (const View& element : view.elements()) list.push_back(copy(element));
      return list;
    }
    case Kind::kObject: {
      const auto members = view.members();
      std::map<std::string_view, std::size_t> last;  // of equal keys that one counts
      for (std::size_t i = 0; i < members.size(); ++i) last[members[i].key] = i;
      Value value = object();
      for (std::size_t i = 0; i < members.size(); ++i) {
        if (last[members[i].key] == i) value.append(members[i].key, copy(members[i].value));
      }
      return value;
    }
    default:
      return raw(std::string(view.text()));
  }
}

Value& Value::operator[](std::string_view key) {
  if (std::holds_alternative<std::nullptr_t>(data_)) data_ = Object();
  auto& members = std::get<Object>(data_);
  const auto found = std::ranges::find(members, key, &Member::key);
  if (found != members.end()) return found->value;
  return members.emplace_back(std::string(key), Value()).value;
}

void Value::append(std::string key, Value value) {
  std::get<Object>(data_).push_back({std::move(key), std::move(value)});
}

void Value::push_back(Value value) {
  if (std::holds_alternative<std::nullptr_t>(data_)) data_ = Array();
  std::get<Array>(data_).push_back(std::move(value));
}

std::size_t Value::size() const {
  if (const auto* elements = std::get_if<Array>(&data_)) return elements->size();
  if (const auto* members = std::get_if<Object>(&data_)) return members->size();
  return 0;
}

struct Value::Layout {
  Order order = Order::kKept;
  bool is_indented = false;
  std::size_t depth = 0;

  Layout inside() const { return {order, is_indented, depth + 1}; }
  void begin_line(std::string& out) const {
    if (is_indented) out.append(1, '\n').append(2 * depth, ' ');
  }
};

std::string Value::text(Order order) const {
  std::string out;
  write(out, {.order = order});
  return out;
}

std::string Value::lines() const {
  std::string out;
  write(out, {.is_indented = true});
  return out;
}

void Value::write(std::string& out, const Layout& layout) const {
  const auto list = [&](char begin, char end, const auto& parts, const auto& write_part) {
    out += begin;
    const Layout inside = layout.inside();
    bool is_first = true;
    for (const auto& part : parts) {
      if (!is_first) out += ',';
      is_first = false;
      inside.begin_line(out);
      write_part(part, inside);
    }
    if (!is_first) layout.begin_line(out);
    out += end;
  };
  if (std::holds_alternative<std::nullptr_t>(data_)) out += "null";
  if (const auto* truth = std::get_if<Truth>(&data_)) out += truth->value ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&data_)) out += std::to_string(*number);
  if (const auto* number = std::get_if<std::uint64_t>(&data_)) out += std::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&data_)) write_string(out, *text);
  if (const auto* json = std::get_if<Raw>(&data_)) out += json->text;
  if (const auto* elements = std::get_if<Array>(&data_)) {
    list('[', ']', *elements,
         [&](const Value& element, const Layout& inside) { element.write(out, inside); });
  }
  if (const auto* members = std::get_if<Object>(&data_)) {
    std::vector<const Member*> in_order;
    for (const Member& member : *members) in_order.push_back(&member);
    if (layout.order == Order::kSorted) {
      std::ranges::sort(in_order, {}, [](const Member* member) { return member->key; });
    }
    list('{', '}', in_order, [&](const Member* member, const Layout& inside) {
      write_string(out, member->key);
      out += layout.is_indented ? ": " : ":";
      member->value.write(out, inside);
    });
  }
}

}  // namespace tranche::json
