#include "explain/lint/config_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "config/file/load.h"
#include "explain/lint/parted_layouts.h"
#include "mig/parted.h"

namespace tranche::lint {
namespace {

// In messages, for the file; no text of a user's is such.
constexpr std::string_view kName = "\x01";

// The chart sets it for the agent, so a file that leaves it out is not wrong.
constexpr std::string_view kMpsRoot = "/run/nvidia/mps";

// Different ones of a file. Each is searched for on every model.
constexpr std::size_t kMostWishes = 1000;

constexpr std::array<std::string_view, 5> kConfigKeys = {"flags", "sharing", "resources", "imex",
                                                         "tranche"};

// One message a line. Text of the file's in a message may have line ends of its own: what does not
// begin as a message does is part of the one before.
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

// A layout that is wished of many GPUs is searched for once.
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

// Takes "<name>:<line>" off the front of `text`.
std::optional<int> take_place(std::string_view& text, std::string_view name) {
  if (!text.starts_with(name) || !text.substr(name.size()).starts_with(':')) return std::nullopt;
  const auto rest = text.substr(name.size() + 1);
  int line = 0;
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), line);
  if (error != std::errc()) return std::nullopt;
  text = rest.substr(static_cast<std::size_t>(stop - rest.data()));
  return line;
}

// Takes "sharing.mps.resources[0]: " off the front.
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

// The text of a line of the file, from 1.
std::string_view line_of(std::string_view source, int line) {
  for (int i = 1; i < line && !source.empty(); ++i) {
    source.remove_prefix(std::min(source.find('\n'), source.size() - 1) + 1);
  }
  return source.substr(0, source.find('\n'));
}

// "key: |": the text begins in the next line, and each of its lines is one of the file's.
bool is_block(std::string_view line) {
  const auto end = line.find_last_not_of(" \t\r0123456789+-");
  return end != std::string_view::npos && line[end] == '|';
}

}  // namespace

FileKind kind_of_file(const yaml::Node& root) {
  if (root.find("mig-configs") != nullptr) return FileKind::kParted;
  const bool is_config = std::ranges::any_of(
      kConfigKeys, [&](std::string_view key) { return root.find(key) != nullptr; });
  return is_config && root.find("kind") == nullptr ? FileKind::kConfig : FileKind::kNone;
}

Finding finding_of(std::string_view message, std::string_view name, Level level,
                   const TextPlace& place) {
  Finding finding{.level = level, .line = place.first, .path = place.path, .what = {}, .fix = {}};
  std::string inner;
  std::string text(message);
  auto rest = message;
  auto line = take_place(rest, name);
  if (line && rest.starts_with(": ")) {
    rest.remove_prefix(2);
    inner = take_path(rest);
    text = rest;
  } else if (const auto at = message.find(fmt::format("({}:", name));
             at != std::string_view::npos) {
    // NVIDIA's phrase first, and the place in brackets.
    auto behind = message.substr(at + 1);
    line = take_place(behind, name);
    const auto end = behind.find(')');
    if (line && end != std::string_view::npos) {
      if (behind.starts_with(": ")) inner = std::string(behind.substr(2, end - 2));
      text = fmt::format("{}{}", message.substr(0, at > 0 ? at - 1 : 0), behind.substr(end + 1));
    }
  }
  if (line && !place.one_line) finding.line = place.first + *line - 1;
  finding.path = joined(place.path, inner);
  const auto hint = text.find("; ");
  finding.what = text.substr(0, hint);
  if (hint != std::string::npos) finding.fix = text.substr(hint + 2);
  std::erase(finding.what, '\x01');
  if (finding.what.empty()) finding.what = "this cannot be read";
  return finding;
}

void check_file(std::string_view text, FileKind kind, const TextPlace& place, Report& report) {
  if (kind == FileKind::kParted) {
    const auto parsed = mig::parse_parted(text, kName);
    if (parsed) {
      check_layouts(*parsed, place, report);
    } else {
      add_lines(parsed.error().message(), Level::kError, place, report);
    }
  } else if (kind == FileKind::kConfig) {
    const auto loaded = config::load({.program = config::Program::kAgent,
                                      .file_text = std::string(text),
                                      .file_name = std::string(kName),
                                      .environment = {{"MPS_ROOT", std::string(kMpsRoot)}}});
    if (!loaded) {
      add_lines(loaded.error().message(), Level::kError, place, report);
      return;
    }
    for (const auto& warning : loaded->warnings) {
      add_lines(warning.message, Level::kWarning, place, report);
    }
  }
}

void check_config_map(const Place& object, std::string_view source) {
  const auto data = object.map("data");
  if (!data) return;
  for (const auto& member : data->members()) {
    const auto& node = member.node();
    if (node.kind != yaml::Kind::kScalar) continue;
    const auto parsed = yaml::parse(node.scalar, kName);
    // What is no YAML is something else than a file of ours, or a torn one.
    const bool is_torn = !parsed && (node.scalar.find("mig-configs:") != std::string::npos ||
                                     node.scalar.find("timeSlicing:") != std::string::npos);
    const auto kind = parsed    ? kind_of_file(parsed->root)
                      : is_torn ? FileKind::kParted
                                : FileKind::kNone;
    const bool block = is_block(line_of(source, member.line()));
    check_file(
        node.scalar, kind,
        {.first = member.line() + (block ? 1 : 0), .path = member.path(), .one_line = !block},
        member.report());
  }
}

}  // namespace tranche::lint
