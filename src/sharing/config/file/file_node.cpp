#include "config/file/file_node.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/edit_distance.h"
#include "base/letter_case.h"
#include "config/file/fields.h"
#include "config/flags/values.h"

namespace tranche::config {
namespace {

// The longest part of an unknown key in a message.
constexpr std::size_t kShownKey = 60;

// "sharing.mps.resources[3].name" -> "sharing.mps.resources[].name"
std::string without_indices(std::string_view path) {
  std::string text;
  bool inside = false;
  for (const char c : path) {
    if (c == ']') inside = false;
    if (!inside) text += c;
    if (c == '[') inside = true;
  }
  return text;
}

std::string join(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

template <class T>
std::optional<T> read_scalar(const FileNode& node, FlagType type) {
  if (node.is_null()) return std::nullopt;
  auto value = value_from_node(type, node.node());
  if (value) return std::get<T>(*std::move(value));
  node.error(value.error().what, value.error().hint);
  return std::nullopt;
}

}  // namespace

std::string FileNode::where() const {
  if (path_.empty()) return fmt::format("{}:{}", file_, line_);
  return fmt::format("{}:{}: {}", file_, line_, path_);
}

void FileNode::error(std::string_view what, std::string_view remedy) const {
  problems_.error(where(), what, remedy);
}

void FileNode::report_unknown(const yaml::Entry& entry,
                              const std::vector<std::string_view>& known) const {
  const auto key = std::string_view(entry.key).substr(0, kShownKey);
  const auto near = nearest(entry.key, known);
  problems_.suspicious(fmt::format("{}:{}: {}", file_, entry.line, join(path_, key)), "unknown key",
                       "ignored",
                       near ? fmt::format("did you mean '{}'?", *near)
                            : fmt::format("remove it, known here: {}", fmt::join(known, ", ")));
}

std::vector<FileNode::Child> FileNode::children(Keys keys) const {
  if (is_null()) return {};
  if (node_.kind != yaml::Kind::kMap) {
    error(cannot_unmarshal(node_, "a mapping"), "write keys and values under it");
    return {};
  }
  const auto known = keys_under(without_indices(path_));
  std::vector<std::pair<std::string_view, const yaml::Entry*>> found;
  for (const auto& entry : node_.entries) {
    const auto key = std::ranges::find_if(known, [&](std::string_view k) {
      return keys == Keys::kAnyCase ? same_without_case(k, entry.key) : k == entry.key;
    });
    if (key == known.end()) {
      report_unknown(entry, known);
      continue;
    }
    const auto twin = std::ranges::find(found, *key, [](const auto& pair) { return pair.first; });
    if (twin == found.end()) {
      found.emplace_back(*key, &entry);
      continue;
    }
    const auto* ignored = twin->second->key == *key ? &entry : twin->second;
    twin->second = ignored == &entry ? twin->second : &entry;
    problems_.suspicious(
        fmt::format("{}:{}: {}", file_, ignored->line, join(path_, ignored->key)),
        fmt::format("the same key as '{}' in line {}", twin->second->key, twin->second->line),
        "ignored", "remove one of the two");
  }
  std::vector<Child> children;
  children.reserve(found.size());
  for (const auto& [key, entry] : found) {
    children.push_back({key, {entry->value, entry->line, join(path_, key), file_, problems_}});
  }
  return children;
}

std::optional<std::vector<FileNode>> FileNode::items() const {
  if (node_.kind != yaml::Kind::kSequence) {
    error(cannot_unmarshal(node_, "a list"), "begin each entry with '- '");
    return std::nullopt;
  }
  std::vector<FileNode> items;
  items.reserve(node_.items.size());
  for (std::size_t i = 0; i < node_.items.size(); ++i) {
    items.emplace_back(node_.items[i], node_.items[i].line, fmt::format("{}[{}]", path_, i), file_,
                       problems_);
  }
  return items;
}

const FileNode* find_child(const std::vector<FileNode::Child>& children, std::string_view key) {
  const auto found = std::ranges::find(children, key, &FileNode::Child::key);
  return found == children.end() ? nullptr : &found->value;
}

std::optional<bool> read_bool(const FileNode& node) {
  return read_scalar<bool>(node, FlagType::kBool);
}

std::optional<std::string> read_string(const FileNode& node) {
  return read_scalar<std::string>(node, FlagType::kString);
}

std::optional<std::string> read_scalar_text(const FileNode& node) {
  if (node.node().kind == yaml::Kind::kScalar) return node.node().scalar;
  return read_string(node);
}

}  // namespace tranche::config
