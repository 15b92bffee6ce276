#include "base/json_fields.h"

#include <fmt/format.h>

#include <algorithm>

namespace tranche::json {
namespace {

// A number may be as long as its text: messages show its beginning.
constexpr std::size_t kLongestShown = 40;

std::string out_of_range(View number, const std::string& least, const std::string& most) {
  const auto text = number.text();
  return fmt::format("is {}{}, no whole number from {} to {}", text.substr(0, kLongestShown),
                     text.size() > kLongestShown ? "..." : "", least, most);
}

}  // namespace

std::string Fields::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void Fields::refuse(std::string_view key, std::string_view why) const {
  if (!error_) error_ = Error{Code::kInvalidArgument, fmt::format("{} {}", path_of(key), why)};
}

void Fields::refuse(std::string what) const {
  if (!error_) error_ = Error{Code::kInvalidArgument, std::move(what)};
}

bool Fields::is(Kind kind, std::string_view key, View value) const {
  if (value.kind() == kind) return true;
  refuse(key, fmt::format("is {} where {} is expected", describe(value.kind()), describe(kind)));
  return false;
}

// As View::find, which looks through the text each time: of equal keys the last counts.
std::optional<View> Fields::look_up(std::string_view key) const {
  if (!members_) members_ = object_.members();
  const auto found = std::find_if(members_->rbegin(), members_->rend(),
                                  [&](const Member& member) { return member.key == key; });
  return found == members_->rend() ? std::nullopt : std::optional(found->value);
}

std::optional<View> Fields::find(std::string_view key, Kind kind) const {
  const auto found = look_up(key);
  if (!found || found->kind() == Kind::kNull || !is(kind, key, *found)) return std::nullopt;
  return found;
}

std::optional<View> Fields::present(std::string_view key) const {
  const auto found = look_up(key);
  if (!found) refuse(key, "is missing");
  return found;
}

std::optional<std::string> Fields::maybe_text(std::string_view key) const {
  const auto found = find(key, Kind::kString);
  return found ? found->as_string() : std::nullopt;
}

std::optional<bool> Fields::maybe_boolean(std::string_view key) const {
  const auto found = find(key, Kind::kBool);
  return found ? found->as_bool() : std::nullopt;
}

std::string Fields::text(std::string_view key) const { return maybe_text(key).value_or(""); }

bool Fields::boolean(std::string_view key) const { return maybe_boolean(key).value_or(false); }

std::int64_t Fields::number(std::string_view key) const {
  const auto found = find(key, Kind::kNumber);
  if (!found) return 0;
  const auto value = found->as_int();
  if (!value) refuse(key, fmt::format("is {}, no whole number of 64 bits", found->text()));
  return value.value_or(0);
}

Fields::StringMap Fields::map(std::string_view key) const {
  StringMap map;
  const auto found = find(key, Kind::kObject);
  if (!found) return map;
  for (auto& [name, value, begin, end] : found->members()) {
    auto text = value.as_string();
    if (!text && value.kind() != Kind::kNull) {
      refuse(key, fmt::format("has {} at \"{}\" where a text is expected", describe(value.kind()),
                              name));
    }
    map.insert_or_assign(std::move(name), std::move(text).value_or(""));
  }
  return map;
}

Fields Fields::object(std::string_view key) const {
  const auto found = find(key, Kind::kObject);
  return {found.value_or(View()), path_of(key), error_};
}

std::vector<Fields> Fields::objects_of(std::string_view key, View list) const {
  std::vector<Fields> objects;
  for (const auto& element : list.elements()) {
    auto path = fmt::format("{}[{}]", path_of(key), objects.size());
    if (element.kind() != Kind::kObject) {
      refuse(key, fmt::format("has {} where an object is expected", describe(element.kind())));
      return objects;
    }
    objects.emplace_back(element, std::move(path), error_);
  }
  return objects;
}

std::vector<Fields> Fields::list(std::string_view key) const {
  const auto found = find(key, Kind::kArray);
  return found ? objects_of(key, *found) : std::vector<Fields>();
}

std::int64_t Fields::need_number(std::string_view key, std::int64_t least,
                                 std::int64_t most) const {
  const auto found = present(key);
  return found ? whole(key, *found, least, most) : 0;
}

Fields Fields::need_object(std::string_view key) const {
  const auto found = present(key);
  const bool is_object = found && is(Kind::kObject, key, *found);
  return {is_object ? *found : View(), path_of(key), error_};
}

std::vector<Fields> Fields::need_list(std::string_view key) const {
  const auto found = present(key);
  if (!found || !is(Kind::kArray, key, *found)) return {};
  return objects_of(key, *found);
}

void Fields::require(std::initializer_list<std::string_view> keys) const {
  for (const auto key : keys) present(key);
}

std::int64_t Fields::whole(std::string_view key, View value, std::int64_t least,
                           std::int64_t most) const {
  if (!is(Kind::kNumber, key, value)) return 0;
  const auto number = value.as_int();
  if (number && *number >= least && *number <= most) return *number;
  refuse(key, out_of_range(value, std::to_string(least), std::to_string(most)));
  return 0;
}

std::uint64_t Fields::whole(std::string_view key, View value, std::uint64_t most) const {
  if (!is(Kind::kNumber, key, value)) return 0;
  const auto number = value.as_uint();
  if (number && *number <= most) return *number;
  refuse(key, out_of_range(value, "0", std::to_string(most)));
  return 0;
}

void Fields::read(std::string_view key, View value, std::string& out) const {
  if (is(Kind::kString, key, value)) out = value.as_string().value_or("");
}

void Fields::read(std::string_view key, View value, bool& out) const {
  if (is(Kind::kBool, key, value)) out = value.as_bool().value_or(false);
}

void Fields::read(std::string_view key, View value, double& out) const {
  if (!is(Kind::kNumber, key, value)) return;
  const auto number = value.as_double();
  if (!number) refuse(key, "is a number beyond those of a double");
  out = number.value_or(0);
}

void Fields::read(std::string_view key, View value, std::vector<std::string>& out) const {
  if (!is(Kind::kArray, key, value)) return;
  for (const auto& element : value.elements()) {
    auto text = element.as_string();
    if (!text) {
      return refuse(fmt::format("{}[{}] is {} where a text is expected", path_of(key), out.size(),
                                describe(element.kind())));
    }
    out.push_back(*std::move(text));
  }
}

void Fields::read(std::string_view key, View value, StringMap& out) const {
  if (!is(Kind::kObject, key, value)) return;
  for (auto& [name, member, begin, end] : value.members()) {
    auto text = member.as_string();
    if (!text) {
      return refuse(key, fmt::format("has {} at \"{}\" where a text is expected",
                                     describe(member.kind()), name));
    }
    out.insert_or_assign(std::move(name), *std::move(text));
  }
}

}  // namespace tranche::json
