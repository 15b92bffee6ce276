#include "explain/lint/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/edit_distance.h"
#include "base/printable.h"

namespace tranche::lint {
namespace {

// More than anybody reads.
constexpr std::size_t kMostFindings = 500;
constexpr std::size_t kLongestShown = 80;
constexpr std::size_t kLeastBeginning = 3;

bool is_plain_step(std::string_view key) {
  return !key.empty() && key.find_first_of("./[] ") == std::string_view::npos;
}

std::string step(const std::string& path, std::string_view key) {
  if (!is_plain_step(key)) return fmt::format("{}[{}]", path, shown(key));
  return path.empty() ? shown(key) : fmt::format("{}.{}", path, shown(key));
}

}  // namespace

const char* to_string(Level level) {
  switch (level) {
    case Level::kError:
      return "error";
    case Level::kWarning:
      return "warning";
    case Level::kNote:
      break;
  }
  return "note";
}

void Report::add(Finding finding) {
  if (finding.level == Level::kError) ++errors_;
  if (finding.corrected) ++corrections_;
  finding.object = object_;
  if (findings_.size() >= kMostFindings) {
    ++left_out_;
    return;
  }
  findings_.push_back(std::move(finding));
}

Place Place::member(yaml::Entry& entry) const {
  return {entry.value, entry.line, step(path_, entry.key), *report_};
}

std::optional<Place> Place::child(std::string_view key) const {
  const auto found = std::ranges::find(node_->entries, key, &yaml::Entry::key);
  if (found == node_->entries.end() || found->value.kind == yaml::Kind::kNull) return std::nullopt;
  return member(*found);
}

std::optional<Place> Place::map(std::string_view key) const {
  auto found = child(key);
  if (!found || found->is_map()) return found;
  found->error(
      fmt::format("{} is {} where a mapping is expected", key, yaml::describe(found->node().kind)),
      "write keys and values below it");
  return std::nullopt;
}

std::vector<Place> Place::list_of_maps(std::string_view key) const {
  const auto found = child(key);
  if (!found) return {};
  if (found->node().kind != yaml::Kind::kSequence) {
    found->error(
        fmt::format("{} is {} where a list is expected", key, yaml::describe(found->node().kind)),
        "begin each of its entries with \"- \"");
    return {};
  }
  auto all = found->items();
  std::erase_if(all, [](const Place& item) {
    if (item.is_map()) return false;
    item.error(fmt::format("the entry is {} where a mapping is expected",
                           yaml::describe(item.node().kind)),
               "write keys and values");
    return true;
  });
  return all;
}

std::vector<Place> Place::items() const {
  std::vector<Place> all;
  for (std::size_t i = 0; i < node_->items.size(); ++i) {
    auto& item = node_->items[i];
    all.emplace_back(item, item.line, fmt::format("{}[{}]", path_, i), *report_);
  }
  return all;
}

std::vector<Place> Place::members() const {
  std::vector<Place> all;
  for (auto& entry : node_->entries) all.push_back(member(entry));
  return all;
}

std::string Place::text(std::string_view key) const {
  const auto* found = node_->find(key);
  return found == nullptr ? std::string() : found->scalar;
}

void Place::say(Level level, std::string what, std::string fix, bool corrected) const {
  report_->add({.level = level,
                .line = line_,
                .path = path_,
                .what = std::move(what),
                .fix = std::move(fix),
                .corrected = corrected});
}

void Place::corrected(std::string what, std::string fix) const {
  say(Level::kError, std::move(what), std::move(fix), true);
}

void Place::error(std::string what, std::string fix) const {
  say(Level::kError, std::move(what), std::move(fix), false);
}

void Place::doubt(std::string what, std::string fix) const {
  say(Level::kWarning, std::move(what), std::move(fix), false);
}

void Place::note(std::string what, std::string fix) const {
  say(Level::kNote, std::move(what), std::move(fix), false);
}

void Place::check_keys(std::initializer_list<std::string_view> known) const {
  for (auto& entry : node_->entries) {
    if (std::ranges::find(known, entry.key) != known.end()) continue;
    const std::vector<std::string> words(known.begin(), known.end());
    member(entry).error(fmt::format("unknown field \"{}\"", shown(entry.key)),
                        did_you_mean(entry.key, words, "remove it"));
  }
}

void Place::set_text(std::string text) const {
  node_->kind = yaml::Kind::kScalar;
  node_->scalar = std::move(text);
  node_->quoted = true;
}

yaml::Node Place::take(std::string_view key) const {
  const auto found = std::ranges::find(node_->entries, key, &yaml::Entry::key);
  if (found == node_->entries.end()) return {};
  auto value = std::move(found->value);
  node_->entries.erase(found);
  return value;
}

void Place::put(std::string_view key, yaml::Node value) const {
  const auto found = std::ranges::find(node_->entries, key, &yaml::Entry::key);
  if (found == node_->entries.end()) {
    node_->entries.push_back({std::string(key), line_, std::move(value)});
  } else {
    found->value = std::move(value);
  }
}

yaml::Node text_node(std::string text, bool quoted) {
  return {.kind = yaml::Kind::kScalar, .scalar = std::move(text), .quoted = quoted};
}

yaml::Node word_node(std::string text) {
  return {.kind = yaml::Kind::kScalar, .scalar = std::move(text)};
}

yaml::Node map_node() { return {.kind = yaml::Kind::kMap}; }

yaml::Node list_node() { return {.kind = yaml::Kind::kSequence}; }

std::string shown(std::string_view text) {
  auto short_text = printable(text, kLongestShown);
  if (text.size() > kLongestShown) short_text += "...";
  return short_text;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known,
                         std::string otherwise) {
  const std::vector<std::string_view> words(known.begin(), known.end());
  auto near = nearest(word, words);
  // "product" for productName: only the end is missing.
  if (!near && word.size() >= kLeastBeginning) {
    const auto longer =
        std::ranges::find_if(words, [&](std::string_view one) { return one.starts_with(word); });
    if (longer != words.end()) near = *longer;
  }
  return near ? fmt::format("did you mean \"{}\"?", *near) : std::move(otherwise);
}

}  // namespace tranche::lint
