#include "admission/patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>

namespace tranche::admission {
namespace {

json::Value operation(std::string_view name, const std::string& pointer) {
  json::Value value = json::Value::object();
  value["op"] = name;
  value["path"] = pointer;
  return value;
}

void put(std::string_view name, const std::string& pointer, json::View wanted,
         json::Value& operations) {
  auto value = operation(name, pointer);
  value["value"] = json::Value::copy(wanted);
  operations.push_back(std::move(value));
}

std::map<std::string, json::View> by_key(json::View object) {
  std::map<std::string, json::View> map;
  for (auto& member : object.members()) map.insert_or_assign(std::move(member.key), member.value);
  return map;
}

bool same_lists(json::View a, json::View b) {
  return std::ranges::equal(a.elements(), b.elements(), same_value);
}

void object_difference(const std::string& pointer, json::View now, json::View wanted,
                       json::Value& operations) {
  const auto after = by_key(wanted);
  for (const auto& member : distinct_members(now)) {
    const auto found = after.find(member.key);
    add_difference(pointer + pointer_step(member.key), member.value,
                   found == after.end() ? std::nullopt : std::optional(found->second), operations);
  }
  const auto before = by_key(now);
  for (const auto& member : distinct_members(wanted)) {
    if (before.contains(member.key)) continue;
    put("add", pointer + pointer_step(member.key), member.value, operations);
  }
}

// The indices of `now` whose removal leaves `wanted`; nullopt: there are other differences.
std::optional<std::vector<std::size_t>> removed(const std::vector<json::View>& now,
                                                const std::vector<json::View>& wanted) {
  std::vector<std::size_t> places;
  std::size_t next = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (next < wanted.size() && same_value(now[i], wanted[next])) {
      ++next;
    } else {
      places.push_back(i);
    }
  }
  return next == wanted.size() ? std::optional(std::move(places)) : std::nullopt;
}

void list_difference(const std::string& pointer, json::View now, json::View wanted,
                     json::Value& operations) {
  const auto before = now.elements();
  const auto after = wanted.elements();
  if (after.size() >= before.size()) {
    for (std::size_t i = 0; i < before.size(); ++i) {
      add_difference(fmt::format("{}/{}", pointer, i), before[i], after[i], operations);
    }
    for (auto i = before.size(); i < after.size(); ++i) {
      put("add", pointer + "/-", after[i], operations);
    }
  } else if (const auto places = removed(before, after)) {
    // From the end, so that earlier indices stay valid.
    for (const auto place : std::views::reverse(*places)) {
      operations.push_back(operation("remove", fmt::format("{}/{}", pointer, place)));
    }
  } else {
    put("replace", pointer, wanted, operations);
  }
}

}  // namespace

std::string pointer_step(std::string_view key) {
  std::string step = "/";
  for (const char c : key) {
    if (c == '~') {
      step += "~0";
    } else if (c == '/') {
      step += "~1";
    } else {
      step += c;
    }
  }
  return step;
}

std::vector<json::Member> distinct_members(json::View object) {
  auto members = object.members();
  std::map<std::string_view, std::size_t> last;
  for (std::size_t i = 0; i < members.size(); ++i) last[members[i].key] = i;
  if (last.size() == members.size()) return members;
  std::vector<json::Member> found;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (last[members[i].key] == i) found.push_back(members[i]);
  }
  return found;
}

bool same_value(json::View a, json::View b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case json::Kind::kString:
      return a.as_string() == b.as_string();
    case json::Kind::kArray:
      return same_lists(a, b);
    case json::Kind::kObject: {
      const auto one = by_key(a);
      return std::ranges::equal(one, by_key(b), [](const auto& x, const auto& y) {
        return x.first == y.first && same_value(x.second, y.second);
      });
    }
    default:
      return a.text() == b.text();
  }
}

void add_difference(const std::string& pointer, std::optional<json::View> now,
                    std::optional<json::View> wanted, json::Value& operations) {
  if (!now && !wanted) return;
  if (!wanted) {
    operations.push_back(operation("remove", pointer));
  } else if (!now) {
    put("add", pointer, *wanted, operations);
  } else if (now->kind() == json::Kind::kObject && wanted->kind() == json::Kind::kObject) {
    object_difference(pointer, *now, *wanted, operations);
  } else if (now->kind() == json::Kind::kArray && wanted->kind() == json::Kind::kArray) {
    list_difference(pointer, *now, *wanted, operations);
  } else if (!same_value(*now, *wanted)) {
    put("replace", pointer, *wanted, operations);
  }
}

}  // namespace tranche::admission
