#include "support/fake_ownership.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace tranche::test {
namespace {

using nlohmann::json;

// The server's own, and what names the object.
bool is_owned(const std::string& path) {
  constexpr auto kNot = std::to_array<std::string_view>(
      {"/apiVersion", "/kind", "/metadata/name", "/metadata/namespace", "/metadata/uid",
       "/metadata/resourceVersion", "/metadata/creationTimestamp", "/metadata/generation",
       "/metadata/generateName"});
  return std::ranges::find(kNot, path) == kNot.end();
}

void collect(const json& value, const json::json_pointer& path, std::map<std::string, json>& out) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, below] : value.items()) collect(below, path / key, out);
  } else if (!path.empty() && is_owned(path.to_string())) {
    out.emplace(path.to_string(), value);
  }
}

std::map<std::string, json> leaves(const json& value) {
  std::map<std::string, json> out;
  collect(value, json::json_pointer(), out);
  return out;
}

// As the API server writes a field: ".metadata.labels.nvidia.com/gpu.count".
std::string dotted(const std::string& path) {
  std::string text;
  for (json::json_pointer rest(path); !rest.empty(); rest = rest.parent_pointer()) {
    text.insert(0, "." + rest.back());
  }
  return text;
}

// Removes the field, and the objects around it that it leaves empty, but not metadata.
void remove_field(json& object, const std::string& path) {
  json::json_pointer pointer(path);
  while (!pointer.empty() && object.contains(pointer)) {
    auto& parent = object.at(pointer.parent_pointer());
    parent.erase(pointer.back());
    if (!parent.empty()) return;
    pointer = pointer.parent_pointer();
    if (pointer.to_string() == "/metadata") return;
  }
}

}  // namespace

void Ownership::changed(const json& before, const json& after, const std::string& by) {
  const auto old_leaves = leaves(before);
  const auto new_leaves = leaves(after);
  for (const auto& [path, value] : old_leaves) {
    if (!new_leaves.contains(path)) owners_.erase(path);
  }
  for (const auto& [path, value] : new_leaves) {
    const auto old = old_leaves.find(path);
    if (old == old_leaves.end() || old->second != value) owners_[path] = {by};
  }
}

json Ownership::apply(json live, const json& wanted, const std::string& by, bool force,
                      std::vector<std::string>& conflicts) {
  const auto fields = leaves(wanted);
  const auto now = leaves(live);
  for (const auto& [path, value] : fields) {
    const auto there = now.find(path);
    if (there == now.end() || there->second == value) continue;
    for (const auto& owner : owners_[path]) {
      if (owner != by) conflicts.push_back(fmt::format("{}: {}", owner, dotted(path)));
    }
    if (force) owners_[path] = {by};
  }
  if (force) conflicts.clear();
  if (!conflicts.empty()) return live;
  for (auto& [path, owners] : owners_) {
    if (!fields.contains(path) && owners.erase(by) > 0 && owners.empty()) remove_field(live, path);
  }
  std::erase_if(owners_, [](const auto& entry) { return entry.second.empty(); });
  for (const auto& [path, value] : fields) {
    owners_[path].insert(by);
    live[json::json_pointer(path)] = value;
  }
  return live;
}

}  // namespace tranche::test
