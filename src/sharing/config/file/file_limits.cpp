#include "config/file/file_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/names.h"

namespace tranche::config {
namespace {

using Children = std::vector<FileNode::Child>;

// The text at `key`, parsed; nullopt: absent, or invalid (reported).
template <class T>
std::optional<T> read(const Children& children, std::string_view key,
                      Result<T> (*parse)(std::string_view)) {
  const auto* child = find_child(children, key);
  if (child == nullptr) return std::nullopt;
  const auto text = read_scalar_text(*child);
  if (!text) return std::nullopt;
  auto value = parse(*text);
  if (value) return *std::move(value);
  child->error(value.error().what, value.error().hint);
  return std::nullopt;
}

template <class T>
std::optional<T> read_word(const Children& children, std::string_view key,
                           std::optional<T> (*parse)(std::string_view), std::string_view remedy) {
  const auto* child = find_child(children, key);
  if (child == nullptr) return std::nullopt;
  const auto text = read_scalar_text(*child);
  if (!text) return std::nullopt;
  const auto value = parse(*text);
  if (!value) child->error(fmt::format("unknown {}: {}", key, text->substr(0, 80)), remedy);
  return value;
}

// YAML 1.1 and Helm take an unquoted `off` for false; the file's own reader keeps the word.
std::optional<Enforcement> written_enforcement(std::string_view text) {
  return text == "false" ? Enforcement::kOff : enforcement_of(text);
}

int line_of(const Children& children, std::string_view key) {
  const auto* child = find_child(children, key);
  return child == nullptr || child->is_null() ? 0 : child->line();
}

std::optional<std::vector<ClassOfPods>> read_priority_classes(const FileNode& list) {
  if (list.is_null()) return std::nullopt;
  const auto items = list.items();
  if (!items) return std::nullopt;
  std::vector<ClassOfPods> classes;
  for (const auto& item : *items) {
    const auto children = item.children(FileNode::Keys::kAnyCase);
    if (item.node().kind != yaml::Kind::kMap) continue;
    const auto* name = find_child(children, "name");
    const auto text = name == nullptr ? std::nullopt : read_string(*name);
    const auto value =
        read_word(children, "class", priority_of, "write latency-critical, normal or best-effort");
    if (!text || text->empty()) {
      item.error("no PriorityClass specified", "add 'name: ', as in kubectl get priorityclasses");
    } else if (line_of(children, "class") == 0) {
      item.error("no class specified", "add 'class: latency-critical' (or normal, best-effort)");
    } else if (std::ranges::find(classes, *text, &ClassOfPods::priority_class) != classes.end()) {
      item.error(fmt::format("{} has a class already", text->substr(0, 80)), "keep one of the two");
    } else if (value) {
      classes.push_back({*text, *value});
    }
  }
  return classes;
}

FileLimits read_fields(const Children& children, int line) {
  FileLimits limits{.line = line};
  limits.enforcement = read_word(children, "enforcement", written_enforcement,
                                 "write off, account, strict or elastic");
  limits.memory = read(children, "memory", parse_memory_limit);
  limits.memory_hard = read(children, "memoryHard", parse_memory_limit);
  limits.compute = read(children, "compute", parse_compute_limit);
  if (const auto* child = find_child(children, "oversubscribe")) {
    limits.oversubscribe = read_bool(*child);
  }
  limits.policy = read_word(children, "policy", share_policy_of, "write timeSlice or priority");
  limits.priority =
      read_word(children, "class", priority_of, "write latency-critical, normal or best-effort");
  limits.unregistered =
      read_word(children, "unregistered", unregistered_of, "write event or evict");
  limits.memory_hard_line = line_of(children, "memoryHard");
  if (const auto* child = find_child(children, "kernelLimits")) {
    limits.kernel_limits = read_bool(*child);
  }
  if (const auto* child = find_child(children, "priorityClasses")) {
    limits.priority_classes = read_priority_classes(*child);
  }
  limits.priority_classes_line = line_of(children, "priorityClasses");
  if (const auto* child = find_child(children, "runtimeHook")) {
    limits.runtime_hook = read_bool(*child);
  }
  limits.runtime_hook_line = line_of(children, "runtimeHook");
  limits.kernel_limits_line = line_of(children, "kernelLimits");
  limits.priority_line = line_of(children, "class");
  return limits;
}

std::optional<FileLimits> read_entry(const FileNode& entry, bool general_says) {
  const auto children = entry.children(FileNode::Keys::kAnyCase);
  if (entry.node().kind != yaml::Kind::kMap && !entry.is_null()) return std::nullopt;
  auto limits = read_fields(children, entry.line());
  if (!general_says && line_of(children, "enforcement") == 0) {
    entry.error("no enforcement specified",
                "add 'enforcement: strict' (or off, account, elastic), here or for all in "
                "tranche.limits");
  }
  if (line_of(children, "name") == 0) {
    entry.error("no resource name specified",
                "add 'name: nvidia.com/gpu', the resource as it is advertised");
    return std::nullopt;
  }
  limits.name = read(children, "name", parse_resource_name);
  if (!limits.name) return std::nullopt;
  return limits;
}

}  // namespace

FileLimitTable read_limits(const FileNode& node) {
  FileLimitTable table;
  const auto children = node.children(FileNode::Keys::kAnyCase);
  if (node.node().kind != yaml::Kind::kMap) return table;
  table.general = read_fields(children, node.line());
  const bool general_says = line_of(children, "enforcement") != 0;
  const auto* resources = find_child(children, "resources");
  std::vector<FileNode> items;
  if (resources != nullptr && !resources->is_null()) {
    auto found = resources->items();
    if (!found) return table;
    items = *std::move(found);
  }
  if (!general_says && items.empty()) {
    node.error("no enforcement specified, so nothing would be limited",
               "add 'enforcement: strict' (or off, account, elastic)");
  }
  for (const auto& item : items) {
    auto entry = read_entry(item, general_says);
    if (!entry) continue;
    const auto twin = std::ranges::find(table.resources, entry->name, &FileLimits::name);
    if (twin != table.resources.end()) {
      item.error(fmt::format("{} has an entry already, in line {}", entry->name->value, twin->line),
                 "keep one of the two");
      continue;
    }
    table.resources.push_back(*std::move(entry));
  }
  return table;
}

}  // namespace tranche::config
