#include "config/flags/values.h"

#include <fmt/format.h>

#include <charconv>

#include "config/go_values.h"

namespace tranche::config {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const auto comma = text.find(',');
    parts.emplace_back(trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

// In the words of NVIDIA's programs, which are Go's.
std::string why_unreadable(FlagType type, std::string_view text) {
  switch (type) {
    case FlagType::kBool:
      return fmt::format("strconv.ParseBool: parsing \"{}\": invalid syntax", text);
    case FlagType::kInt:
    case FlagType::kIntList:
      return fmt::format("strconv.ParseInt: parsing \"{}\": invalid syntax", text);
    case FlagType::kDuration:
      return fmt::format("time: invalid duration \"{}\"", text);
    default:
      return "parse error";
  }
}

std::unexpected<Error> unreadable(FlagType type, std::string_view text) {
  return fail(Code::kInvalidArgument, why_unreadable(type, text.substr(0, 80)),
              fmt::format("write {}", describe(type)));
}

std::optional<double> parse_float(std::string_view text) {
  double value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<Interval> parse_interval(std::string_view text) {
  if (text == "infinite") return Interval{};
  if (auto duration = go::parse_duration(text)) return Interval{duration};
  return std::nullopt;
}

Result<SettingValue> int_list(const std::vector<std::string>& items) {
  std::vector<std::int64_t> values;
  for (const auto& item : items) {
    const auto value = go::parse_int(item);
    if (!value) return unreadable(FlagType::kIntList, item);
    values.push_back(*value);
  }
  return values;
}

template <class T>
Result<SettingValue> or_unreadable(std::optional<T> value, FlagType type, std::string_view text) {
  if (!value) return unreadable(type, text);
  return SettingValue(*std::move(value));
}

Result<SettingValue> scalar(FlagType type, const std::string& text) {
  switch (type) {
    case FlagType::kBool:
      return or_unreadable(go::parse_bool(text), type, text);
    case FlagType::kInt:
      return or_unreadable(go::parse_int(text), type, text);
    case FlagType::kFloat:
      return or_unreadable(parse_float(text), type, text);
    case FlagType::kDuration:
      return or_unreadable(parse_interval(text), type, text);
    default:
      return text;
  }
}

std::string_view noun_of(FlagType type) {
  if (type == FlagType::kBool) return "a bool";
  return type == FlagType::kStringList ? "a list of strings" : describe(type);
}

std::unexpected<Error> wrong_kind(FlagType type, const yaml::Node& node) {
  return fail(Code::kInvalidArgument, cannot_unmarshal(node, noun_of(type)),
              fmt::format("write {}", describe(type)));
}

// As JSON calls it.
std::string_view kind_of(const yaml::Node& node) {
  switch (node.kind) {
    case yaml::Kind::kNull:
      return "null";
    case yaml::Kind::kSequence:
      return "array";
    case yaml::Kind::kMap:
      return "object";
    case yaml::Kind::kScalar:
      break;
  }
  if (yaml::is_text(node)) return "string";
  return yaml::as_bool(node) ? "bool" : "number";
}

Result<SettingValue> strings_from_node(const yaml::Node& node) {
  if (yaml::is_text(node)) return std::vector{node.scalar};
  if (node.kind != yaml::Kind::kSequence) return wrong_kind(FlagType::kStringList, node);
  std::vector<std::string> values;
  for (const auto& item : node.items) {
    if (!yaml::is_text(item)) return wrong_kind(FlagType::kString, item);
    values.push_back(item.scalar);
  }
  return values;
}

Result<SettingValue> ints_from_node(const yaml::Node& node) {
  if (node.kind != yaml::Kind::kSequence) return wrong_kind(FlagType::kIntList, node);
  std::vector<std::int64_t> values;
  for (const auto& item : node.items) {
    // A null in a list is a 0, as in NVIDIA's program.
    const auto value =
        item.kind == yaml::Kind::kNull ? std::optional<std::int64_t>(0) : yaml::as_int(item);
    if (!value) return wrong_kind(FlagType::kInt, item);
    values.push_back(*value);
  }
  return values;
}

// A plain number that is not whole, or has too many digits for as_int().
std::optional<double> as_float(const yaml::Node& node) {
  if (node.kind != yaml::Kind::kScalar || yaml::is_text(node) || yaml::as_bool(node)) {
    return std::nullopt;
  }
  std::string text = node.scalar;
  std::erase(text, '_');
  return parse_float(text.starts_with('+') ? std::string_view(text).substr(1) : text);
}

// A bare number of nanoseconds; a fraction is dropped, as in NVIDIA's program.
std::optional<Interval> count_of_nanoseconds(const yaml::Node& node) {
  if (const auto count = yaml::as_int(node)) return Interval{std::chrono::nanoseconds(*count)};
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  const auto number = as_float(node);
  if (!number || !(*number >= -kLimit && *number < kLimit)) return std::nullopt;
  return Interval{std::chrono::nanoseconds(static_cast<std::int64_t>(*number))};
}

Result<SettingValue> interval_from_node(const yaml::Node& node) {
  if (const auto count = count_of_nanoseconds(node)) return *count;
  if (node.kind != yaml::Kind::kScalar) return wrong_kind(FlagType::kDuration, node);
  if (const auto interval = parse_interval(node.scalar)) return *interval;
  return fail(Code::kInvalidArgument,
              why_unreadable(FlagType::kDuration, node.scalar.substr(0, 80)),
              fmt::format("write {}", describe(FlagType::kDuration)));
}

}  // namespace

std::string_view describe(FlagType type) {
  switch (type) {
    case FlagType::kString:
      return "a string";
    case FlagType::kBool:
      return "true or false, without quotes";
    case FlagType::kInt:
      return "a whole number";
    case FlagType::kFloat:
      return "a number";
    case FlagType::kIntList:
      return "a list of whole numbers";
    case FlagType::kStringList:
      return "a string or a list of strings";
    case FlagType::kDuration:
      return "a duration such as 60s or 1h30m, or infinite";
  }
  return "a value";
}

Result<SettingValue> value_from_flag(FlagType type, const std::vector<std::string>& texts) {
  if (type != FlagType::kStringList && type != FlagType::kIntList) {
    return scalar(type, texts.back());
  }
  std::vector<std::string> items;
  for (const auto& text : texts) {
    for (auto& item : split(text)) items.push_back(std::move(item));
  }
  if (type == FlagType::kIntList) return int_list(items);
  return items;
}

Result<std::optional<SettingValue>> value_from_environment(FlagType type, const std::string& text) {
  if (text.empty()) {
    switch (type) {
      case FlagType::kString:
        return std::string();
      case FlagType::kBool:
        return false;
      case FlagType::kStringList:
        return std::vector<std::string>{""};
      default:
        return std::nullopt;
    }
  }
  return value_from_flag(type, {text});
}

SettingValue value_from_default(FlagType type, std::string_view text) {
  if (text.empty() && type == FlagType::kIntList) return std::vector<std::int64_t>{};
  if (text.empty() && type == FlagType::kStringList) return std::vector<std::string>{};
  // An invalid default is a mistake in the table; a test would find it.
  return value_from_flag(type, {std::string(text)}).value();
}

Result<SettingValue> value_from_node(FlagType type, const yaml::Node& node) {
  switch (type) {
    case FlagType::kBool:
      if (const auto value = yaml::as_bool(node)) return *value;
      break;
    case FlagType::kInt:
      if (const auto value = yaml::as_int(node)) return *value;
      break;
    case FlagType::kString:
      if (yaml::is_text(node)) return node.scalar;
      break;
    case FlagType::kStringList:
      return strings_from_node(node);
    case FlagType::kIntList:
      return ints_from_node(node);
    case FlagType::kDuration:
      return interval_from_node(node);
    case FlagType::kFloat:
      break;
  }
  return wrong_kind(type, node);
}

std::string cannot_unmarshal(const yaml::Node& node, std::string_view wanted) {
  const auto text = fmt::format("cannot unmarshal {} into {}", kind_of(node), wanted);
  if (node.kind != yaml::Kind::kScalar) return text;
  return fmt::format("{}, found '{}'", text, node.scalar.substr(0, 80));
}

}  // namespace tranche::config
