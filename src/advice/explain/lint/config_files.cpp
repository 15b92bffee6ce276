#include "explain/lint/config_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "base/edit_distance.h"
#include "base/letter_case.h"
#include "config/file/load.h"
#include "explain/lint/config_offers.h"
#include "explain/lint/parted_layouts.h"
#include "mig/parted.h"

namespace tranche::lint {
namespace {

// Placeholder for the file's name in messages; no user's text has it.
constexpr std::string_view kName = "\x01";

// The chart sets it for the agent, so a file may omit it.
constexpr std::string_view kMpsRoot = "/run/nvidia/mps";

// Limits the different wishes of a file: each is searched for on every model.
constexpr std::size_t kMostWishes = 1000;

constexpr std::array<std::string_view, 5> kConfigKeys = {"flags", "sharing", "resources", "imex",
                                                         "tranche"};

// The agent reads keys case-insensitively.
const yaml::Node* find_key(const yaml::Node& map, std::string_view key) {
  const auto found = std::ranges::find_if(
      map.entries, [&](const yaml::Entry& one) { return same_without_case(one.key, key); });
  return found == map.entries.end() ? nullptr : &found->value;
}

bool is_object(const yaml::Node& root) { return root.find("kind") != nullptr; }

// The version of a configuration and of layouts. Kubernetes' objects have none.
bool is_version_1(const yaml::Node& root) {
  const auto* version = find_key(root, "version");
  return version != nullptr && version->scalar == "v1" && !is_object(root);
}

// Recognizes the kind by keys that no other kind has.
FileKind kind_of_keys(const yaml::Node& root) {
  static constexpr std::array<std::string_view, 1> kLayouts = {"mig-configs"};
  const auto is_layouts = [](const yaml::Entry& one) {
    return one.key == "hooks" || nearest(one.key, kLayouts).has_value();
  };
  if (root.find("mig-configs") != nullptr ||
      (is_version_1(root) && std::ranges::any_of(root.entries, is_layouts))) {
    return FileKind::kParted;
  }
  const bool version_alone = root.entries.size() == 1 && find_key(root, "version") != nullptr;
  const bool is_config =
      version_alone || std::ranges::any_of(kConfigKeys, [&](std::string_view key) {
        return find_key(root, key) != nullptr;
      });
  return is_config && !is_object(root) ? FileKind::kConfig : FileKind::kNone;
}

// One message in each line. A message may contain a line end from the file: a line that does not
// begin like a message belongs to the one before.
void add_lines(std::string_view messages, Level level, const TextPlace& place, Report& report) {
  std::string message;
  const auto end_message = [&] {
    if (!message.empty()) report.add(finding_of(message, kName, level, place));
    message.clear();
  };
  while (!messages.empty()) {
    const auto line = messages.substr(0, messages.find('\n'));
    const bool is_rest = line.starts_with(' ') || line.starts_with('(');
    if (!is_rest) end_message();
    message += line;
    messages.remove_prefix(std::min(line.size() + 1, messages.size()));
  }
  end_message();
}

std::string joined(const std::string& outer, const std::string& inner) {
  if (outer.empty() || inner.empty()) return outer + inner;
  return fmt::format("{}: {}", outer, inner);
}

// A layout that many GPUs share is searched for once.
void check_layouts(const mig::PartedFile& file, const TextPlace& place, Report& report) {
  std::map<std::pair<std::vector<std::string>, std::map<std::string, int>>, std::optional<Finding>>
      known;
  for (const auto& [name, entries] : file.configs) {
    for (const auto& entry : entries) {
      std::vector<std::string> filters;
      for (const auto& filter : entry.filters) filters.push_back(filter.text);
      const std::pair key{std::move(filters), entry.wish.devices};
      if (!known.contains(key)) {
        if (known.size() >= kMostWishes) return;
        known[key] = check_instances(entry);
      }
      auto finding = known[key];
      if (!finding) continue;
      finding->line = place.one_line ? place.first : place.first + entry.line - 1;
      finding->path = joined(place.path, fmt::format("mig-configs.{}", name));
      report.add(*std::move(finding));
    }
  }
}

// Removes "<name>:<line>" from the front of `text`.
std::optional<int> take_place(std::string_view& text, std::string_view name) {
  if (!text.starts_with(name) || !text.substr(name.size()).starts_with(':')) return std::nullopt;
  const auto rest = text.substr(name.size() + 1);
  int line = 0;
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), line);
  if (error != std::errc()) return std::nullopt;
  text = rest.substr(static_cast<std::size_t>(stop - rest.data()));
  return line;
}

// Removes "sharing.mps.resources[0]: " from the front.
std::string take_path(std::string_view& text) {
  const auto end = text.find(": ");
  const auto path = text.substr(0, std::min(end, text.size()));
  const bool is_path =
      end != std::string_view::npos && !path.empty() && std::ranges::all_of(path, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("._-[]").find(c) != std::string_view::npos;
      });
  if (!is_path) return "";
  text.remove_prefix(end + 2);
  return std::string(path);
}

// Line number `line` of the file, counted from 1.
std::string_view line_of(std::string_view source, int line) {
  for (int i = 1; i < line && !source.empty(); ++i) {
    source.remove_prefix(std::min(source.find('\n'), source.size() - 1) + 1);
  }
  return source.substr(0, source.find('\n'));
}

// Whether the line is "key: |": its text begins in the next line, and its lines are the file's.
bool is_block(std::string_view line) {
  const auto end = line.find_last_not_of(" \t\r0123456789+-");
  return end != std::string_view::npos && line[end] == '|';
}

// One key of a ConfigMap.
struct TextOfMap {
  std::string_view text;
  FileKind kind = FileKind::kNone;
  // Empty, or with a version but no key of ours: one configuration among others.
  bool may_be_config = false;
  TextPlace place;
};

std::vector<TextOfMap> texts_of(const Place& data, std::string_view source) {
  std::vector<TextOfMap> texts;
  for (const auto& member : data.members()) {
    const auto& node = member.node();
    const bool is_null = node.kind == yaml::Kind::kNull;
    if (node.kind != yaml::Kind::kScalar && !is_null) continue;
    const auto parsed = yaml::parse(node.scalar, kName);
    TextOfMap one{.text = node.scalar};
    const bool is_empty = parsed && yaml::says_nothing(parsed->root);
    // Text that is not YAML is either foreign or a truncated file of ours.
    one.kind = parsed && !is_empty ? kind_of_keys(parsed->root) : kind_of_lines(node.scalar);
    one.may_be_config = one.kind == FileKind::kNone &&
                        (is_empty || (parsed && kind_of_file(parsed->root) == FileKind::kConfig));
    const bool block = is_block(line_of(source, member.line()));
    one.place = {
        .first = member.line() + (block ? 1 : 0), .path = member.path(), .one_line = !block};
    texts.push_back(std::move(one));
  }
  return texts;
}

// Whether nodes choose a configuration among the keys: one is a configuration, even if commented
// out, or the map has a name as in NVIDIA's documentation or ours.
bool is_map_of_ours(const Place& object, const std::vector<TextOfMap>& texts) {
  const auto is_config = [](const TextOfMap& one) { return one.kind == FileKind::kConfig; };
  if (std::ranges::any_of(texts, is_config)) return true;
  const auto metadata = object.map("metadata");
  const auto name = metadata ? metadata->text("name") : std::string();
  static constexpr std::array<std::string_view, 5> kWords = {"tranche", "device-plugin", "nvidia",
                                                             "time-slicing", "gpu"};
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

}  // namespace

FileKind kind_of_file(const yaml::Node& root) {
  const auto kind = kind_of_keys(root);
  return kind == FileKind::kNone && is_version_1(root) ? FileKind::kConfig : kind;
}

FileKind kind_of_lines(std::string_view text) {
  auto kind = FileKind::kNone;
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of("# \t"), line.size()));
    const auto begins = [&](std::string_view key) {
      return same_without_case(line.substr(0, key.size()), key) &&
             line.substr(std::min(key.size(), line.size())).starts_with(':');
    };
    if (begins("mig-configs")) return FileKind::kParted;
    const bool is_config = line.starts_with("version: v1") || begins("timeSlicing") ||
                           std::ranges::any_of(kConfigKeys, begins);
    if (is_config) kind = FileKind::kConfig;
  }
  return kind;
}

Finding finding_of(std::string_view message, std::string_view name, Level level,
                   const TextPlace& place) {
  Finding finding{.level = level, .line = place.first, .path = place.path, .what = {}, .fix = {}};
  std::string inner;
  std::string text(message);
  auto hint = std::string::npos;  // start position in `text`
  auto rest = message;
  auto line = take_place(rest, name);
  if (line && rest.starts_with(": ")) {
    rest.remove_prefix(2);
    inner = take_path(rest);
    text = rest;
  } else if (const auto at = message.find(fmt::format("({}:", name));
             at != std::string_view::npos) {
    // NVIDIA's phrase first, then the place in brackets.
    auto behind = message.substr(at + 1);
    line = take_place(behind, name);
    const auto end = behind.find(')');
    if (line && end != std::string_view::npos) {
      if (behind.starts_with(": ")) inner = std::string(behind.substr(2, end - 2));
      hint = at > 0 ? at - 1 : 0;
      text = fmt::format("{}{}", message.substr(0, hint), behind.substr(end + 1));
    }
  }
  if (line && !place.one_line) finding.line = place.first + *line - 1;
  finding.path = joined(place.path, inner);
  hint = text.find("; ", hint == std::string::npos ? 0 : hint);
  finding.what = text.substr(0, hint);
  if (hint != std::string::npos) finding.fix = text.substr(hint + 2);
  // A message about the file as a whole begins with its name.
  if (finding.what.starts_with(name)) finding.what.replace(0, name.size(), "the file");
  std::erase(finding.what, '\x01');
  if (finding.what.empty()) finding.what = "this cannot be read";
  return finding;
}

void check_file(std::string_view text, FileKind kind, const TextPlace& place, Report& report) {
  if (kind == FileKind::kParted) {
    const auto parsed = mig::parse_parted(text, kName);
    if (parsed) {
      for (const auto& warning : parsed->warnings) {
        add_lines(warning, Level::kWarning, place, report);
      }
      check_layouts(*parsed, place, report);
    } else {
      add_lines(parsed.error().message(), Level::kError, place, report);
    }
  } else if (kind == FileKind::kConfig) {
    const config::Sources sources{.program = config::Program::kAgent,
                                  .file_text = std::string(text),
                                  .file_name = std::string(kName),
                                  .flags = {},
                                  .environment = {},
                                  .defaults = {{"mps-root", std::string(kMpsRoot)}}};
    const auto loaded = config::load(sources);
    if (!loaded) add_lines(loaded.error().message(), Level::kError, place, report);
    for (const auto& warning : loaded ? loaded->warnings : config::warnings_of(sources)) {
      add_lines(warning.message, Level::kWarning, place, report);
    }
    if (loaded) check_offers(loaded->config, place, report);
  }
}

void check_config_map(const Place& object, std::string_view source) {
  const auto data = object.map("data");
  if (!data) return;
  const auto texts = texts_of(*data, source);
  const bool is_ours = is_map_of_ours(object, texts);
  for (const auto& one : texts) {
    // The agent accepts such a key, and nodes that choose it share nothing.
    const auto kind = one.may_be_config && is_ours ? FileKind::kConfig : one.kind;
    check_file(one.text, kind, one.place, object.report());
  }
}

}  // namespace tranche::lint
