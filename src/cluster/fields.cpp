#include "cluster/fields.h"

#include <fmt/format.h>

namespace tranche::cluster {

std::string Fields::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void Fields::refuse(std::string_view key, std::string_view why) const {
  if (!error_) error_ = Error{Code::kInvalidArgument, fmt::format("{} {}", path_of(key), why)};
}

std::optional<json::View> Fields::find(std::string_view key, json::Kind kind) const {
  auto found = object_.find(key);
  if (!found || found->kind() == json::Kind::kNull) return std::nullopt;
  if (found->kind() == kind) return found;
  refuse(key, fmt::format("is {} where {} is expected", describe(found->kind()), describe(kind)));
  return std::nullopt;
}

std::optional<std::string> Fields::maybe_text(std::string_view key) const {
  const auto found = find(key, json::Kind::kString);
  return found ? found->as_string() : std::nullopt;
}

std::optional<bool> Fields::maybe_boolean(std::string_view key) const {
  const auto found = find(key, json::Kind::kBool);
  return found ? found->as_bool() : std::nullopt;
}

std::string Fields::text(std::string_view key) const { return maybe_text(key).value_or(""); }

bool Fields::boolean(std::string_view key) const { return maybe_boolean(key).value_or(false); }

std::int64_t Fields::number(std::string_view key) const {
  const auto found = find(key, json::Kind::kNumber);
  if (!found) return 0;
  const auto value = found->as_int();
  if (!value) refuse(key, fmt::format("is {}, no whole number of 64 bits", found->text()));
  return value.value_or(0);
}

StringMap Fields::map(std::string_view key) const {
  StringMap map;
  const auto found = find(key, json::Kind::kObject);
  if (!found) return map;
  for (auto& [name, value, begin, end] : found->members()) {
    auto text = value.as_string();
    if (!text && value.kind() != json::Kind::kNull) {
      refuse(key, fmt::format("has {} at \"{}\" where a text is expected", describe(value.kind()),
                              name));
    }
    map.insert_or_assign(std::move(name), std::move(text).value_or(""));
  }
  return map;
}

Fields Fields::object(std::string_view key) const {
  const auto found = find(key, json::Kind::kObject);
  return {found.value_or(json::View()), path_of(key), error_};
}

std::vector<Fields> Fields::list(std::string_view key) const {
  std::vector<Fields> list;
  const auto found = find(key, json::Kind::kArray);
  if (!found) return list;
  for (const auto& element : found->elements()) {
    auto path = fmt::format("{}[{}]", path_of(key), list.size());
    if (element.kind() != json::Kind::kObject) {
      refuse(key, fmt::format("has {} where an object is expected", describe(element.kind())));
      return list;
    }
    list.emplace_back(element, std::move(path), error_);
  }
  return list;
}

std::vector<OwnerReference> read_owners(const Fields& metadata) {
  std::vector<OwnerReference> owners;
  for (const auto& owner : metadata.list("ownerReferences")) {
    owners.push_back({owner.text("apiVersion"), owner.text("kind"), owner.text("name"),
                      owner.text("uid"), owner.boolean("controller")});
  }
  return owners;
}

}  // namespace tranche::cluster
