#include "config/file/read_file.h"

#include <fmt/format.h>

#include "config/file/fields.h"
#include "config/file/file_limits.h"
#include "config/file/file_mps.h"
#include "config/file/file_node.h"
#include "config/file/file_sharing.h"
#include "config/flags/values.h"

namespace tranche::config {
namespace {

// flags, imex and the mappings in them: values whose types the flag table knows.
void read_settings(const FileNode& node, Settings& settings) {
  for (const auto& [key, child] : node.children(FileNode::Keys::kAnyCase)) {
    const auto* flag = flag_of_field(child.path());
    if (flag == nullptr) {
      read_settings(child, settings);
      continue;
    }
    if (child.is_null()) continue;
    auto value = value_from_node(flag->type, child.node());
    if (!value) {
      const auto& what = value.error().what;
      const bool list = flag->type == FlagType::kStringList;
      child.error(list ? fmt::format("invalid {}: {}", key, what) : what, value.error().hint);
      continue;
    }
    settings.values.insert_or_assign(
        child.path(),
        Setting{*std::move(value), {.from = Place::From::kFile, .line = child.line()}});
  }
}

void read_sharing(const FileNode& node, Settings& settings) {
  for (const auto& [key, child] : node.children(FileNode::Keys::kAnyCase)) {
    if (key == "timeSlicing") settings.time_slicing = read_replicated(child);
    if (key == "mps" && !child.is_null()) settings.mps = read_replicated(child);
  }
}

void read_resources(const FileNode& node, Settings& settings) {
  for (const auto& [key, child] : node.children(FileNode::Keys::kAnyCase)) {
    (key == "gpus" ? settings.gpus : settings.migs) = read_patterns(child);
  }
}

std::optional<OnChange> read_on_change(const FileNode& node) {
  const auto word = read_string(node);
  for (const auto value : {OnChange::kWithhold, OnChange::kAsNvidia}) {
    if (word == to_string(value)) return value;
  }
  if (word) {
    node.error(fmt::format("unknown value '{}'", word->substr(0, 80)),
               "write withhold or asNvidia");
  }
  return std::nullopt;
}

void read_ours(const FileNode& node, Settings& settings) {
  const auto children = node.children(FileNode::Keys::kAnyCase);
  if (const auto* child = find_child(children, "honorIgnoredFields")) {
    settings.honor_ignored_fields = read_bool(*child).value_or(false);
  }
  if (const auto* child = find_child(children, "onChange")) {
    settings.on_change = read_on_change(*child);
  }
  const auto* limits = find_child(children, "limits");
  if (limits != nullptr && !limits->is_null()) settings.limits = read_limits(*limits);
  const auto* mps = find_child(children, "mps");
  if (mps != nullptr && !mps->is_null()) settings.control = read_mps(*mps);
}

// False: the file has another version, so nothing else in it can be judged.
bool check_version(const std::vector<FileNode::Child>& children) {
  const auto* node = find_child(children, "version");
  if (node == nullptr) return true;
  const auto version = read_string(*node);
  if (!version || version->empty() || *version == "v1") return true;
  node->problems().error(
      {Code::kInvalidArgument,
       fmt::format("{}{} ({})", kUnknownVersion, version->substr(0, 80), node->where()),
       "write v1"});
  return false;
}

void report_duplicates(const yaml::Document& document, const std::string& name,
                       Problems& problems) {
  for (const auto& duplicate : document.duplicates) {
    problems.suspicious(fmt::format("{}:{}: {}", name, duplicate.line, duplicate.key.substr(0, 60)),
                        fmt::format("duplicate key, also in line {}", duplicate.first_line),
                        "the last one counts", "remove one of the two");
  }
}

// Warns of empty sections: their commented-out content has no effect any more. Sections with
// required keys are reported by their readers.
void warn_of_empty_sections(const yaml::Document& document, const std::string& name,
                            Problems& problems) {
  const auto check = [&](const yaml::Node& map, std::string_view path) {
    for (const auto& [key, line, value] : map.entries) {
      const auto whole = path.empty() ? key : fmt::format("{}.{}", path, key);
      if (value.kind != yaml::Kind::kNull || keys_under(whole).empty()) continue;
      if (whole == "sharing.timeSlicing") continue;
      problems.warn(fmt::format("{}:{}: {}", name, line, whole),
                    "nothing is written under it, so it has no effect",
                    "write under it, or remove the key");
    }
  };
  check(document.root, "");
  for (const auto& [key, line, value] : document.root.entries) check(value, key);
}

}  // namespace

Settings read_file(const yaml::Document& document, const std::string& name, Problems& problems) {
  Settings settings{.file_name = name};
  const FileNode root(document.root, document.root.line, "", name, problems);
  const auto children = root.children(FileNode::Keys::kAnyCase);
  if (!check_version(children)) return settings;
  report_duplicates(document, name, problems);
  if (!yaml::says_nothing(document.root)) warn_of_empty_sections(document, name, problems);
  for (const auto& [key, child] : children) {
    if (key == "flags" || key == "imex") read_settings(child, settings);
    if (key == "resources") read_resources(child, settings);
    if (key == "sharing") read_sharing(child, settings);
    if (key == "tranche") read_ours(child, settings);
  }
  return settings;
}

}  // namespace tranche::config
