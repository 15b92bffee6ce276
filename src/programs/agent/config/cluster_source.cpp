#include "agent/config/cluster_source.h"

#include <fmt/format.h>

#include <sstream>

#include "cluster/formats/policy_annotations.h"
#include "config/choose.h"
#include "config/file/source.h"

namespace tranche::agent {
namespace {

std::vector<std::string> split_by_comma(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::optional<std::string> find(const cluster::StringMap& map, const char* key) {
  const auto found = map.find(key);
  return found == map.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> keys_of(const cluster::StringMap& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

}  // namespace

ClusterSource::ClusterSource(config::Sources sources, Options options, cluster::Objects& objects,
                             const NodeView& node, process::ChangeNotifier& changed,
                             const Clock& clock, const Log& log)
    : sources_(std::move(sources)),
      options_(std::move(options)),
      node_(node),
      clock_(clock),
      log_(log),
      memory_(options_.state_dir),
      mark_(options_.state_dir / "config-being-read"),
      started_(clock.now()) {
  const auto& choice = options_.choice;
  if (choice.map_name.empty()) return;
  maps_.emplace(
      objects,
      cluster::WatchCache::Options{
          .kind = cluster::kConfigMap,
          .selection = {.ns = choice.map_namespace,
                        .field_selector = "metadata.name=" + choice.map_name},
          .backoff = options_.backoff},
      [&changed](const cluster::CacheChange&) { changed.notify(); }, log_);
}

std::vector<std::filesystem::path> ClusterSource::watch_paths() const {
  if (maps_) return {};
  return config::config_watch_paths(fs_, options_.folder);
}

std::optional<std::chrono::milliseconds> ClusterSource::retry_after() const {
  if (!reader_.rewriting()) return std::nullopt;
  return config::SettledReader::kQuiet;
}

Result<config::Loaded> ClusterSource::read() {
  standing_ = {};
  ASSIGN_OR_RETURN(auto choice, choose());
  return load(std::move(choice));
}

void ClusterSource::accepted() {
  if (stored_ == last_) return;
  if (const auto stored = memory_.store(last_); !stored) {
    log_.warn(
        fmt::format("the configuration in force is not kept for a start without the API "
                    "server: {}; mount a writable folder at --state-dir",
                    stored.error().message()));
  }
  stored_ = last_;  // also after a failure, so that it is logged once
}

Result<ConfigChoice> ClusterSource::choose() {
  if (auto seen = see_label(); !seen) return remembered(std::move(seen).error());
  if (!maps_) {
    set_asked();
    return choose_from_folder();
  }
  auto map_now = map();
  if (!map_now && map_now.error().code == Code::kUnavailable) {
    return remembered(std::move(map_now).error());
  }
  if (!map_now) return std::unexpected(std::move(map_now).error());
  set_asked();
  return choose_from_map(*map_now);
}

void ClusterSource::set_asked() {
  standing_ = {label_->empty() ? ConfigStanding::Is::kDefault : ConfigStanding::Is::kCurrent};
}

// Sets label_; "" if the Node has no such label. kUnavailable: the Node is not known yet.
Result<void> ClusterSource::see_label() {
  auto node = node_.known();
  if (node) label_ = find(node->labels, options_.choice.node_label.c_str()).value_or("");
  if (label_) return {};
  return std::unexpected(std::move(node).error());
}

Result<cluster::ConfigMap> ClusterSource::map() {
  const cluster::ObjectKey key = {options_.choice.map_namespace, options_.choice.map_name};
  if (const auto object = maps_->find(key)) return cluster::parse_config_map(object->json);
  if (maps_->synced()) {
    return fail(Code::kNotFound, fmt::format("{} does not exist", map_text()),
                "create it, or name another one with --config-map");
  }
  auto why =
      maps_->failure().value_or(Error{Code::kUnavailable, "the API server has not answered yet"});
  why.code = Code::kUnavailable;
  return std::unexpected(std::move(why));
}

config::Wish ClusterSource::wish(const std::string& label) const {
  config::Wish wish{.label_key = options_.choice.node_label,
                    .label = label,
                    .fallbacks = options_.choice.fallbacks};
  if (!options_.choice.default_config.empty()) wish.default_name = options_.choice.default_config;
  return wish;
}

Result<ConfigChoice> ClusterSource::choose_from_map(const cluster::ConfigMap& map) {
  if (const auto why = find(map.annotations, cluster::kWithholdAnnotation)) {
    return fail(Code::kAlreadyExists, *why);
  }
  auto wanted = wish(*label_);
  if (const auto name = find(map.annotations, cluster::kDefaultAnnotation))
    wanted.default_name = *name;
  if (const auto fallbacks = find(map.annotations, cluster::kFallbackAnnotation)) {
    ASSIGN_OR_RETURN(wanted.fallbacks, config::parse_fallbacks(split_by_comma(*fallbacks)));
  }
  auto choice = config::choose(wanted, keys_of(map.data));
  if (!choice) return std::unexpected(std::move(choice).error().with_context(map_text()));
  ConfigChoice result{.origin = fmt::format("{} ({})", map_text(), choice->reason),
                      .name = map_text(),
                      .mig_strategy = find(map.annotations, cluster::kMigStrategyAnnotation)};
  if (!choice->name) return result;
  result.text = map.data.at(*choice->name);
  result.name = fmt::format("{}/{}:{}", map.key.ns, map.key.name, *choice->name);
  result.origin = fmt::format("{}, key {} ({}), {}", map_text(), *choice->name, choice->reason,
                              content_word(*result.text));
  return result;
}

Result<ConfigChoice> ClusterSource::choose_from_folder() {
  ASSIGN_OR_RETURN(const auto names, config::config_names(fs_, options_.folder));
  auto choice = config::choose(wish(*label_), names);
  if (!choice) return std::unexpected(std::move(choice).error().with_context(options_.folder));
  ConfigChoice result{.origin = fmt::format("{} ({})", options_.folder, choice->reason),
                      .name = options_.folder};
  if (!choice->name) return result;
  ASSIGN_OR_RETURN(auto text, reader_.read(fs_, options_.folder, *choice->name, clock_));
  result.text = std::move(text.text);
  result.name = std::move(text.name);
  result.origin =
      fmt::format("{} ({}), {}", result.name, choice->reason, content_word(*result.text));
  return result;
}

// The last configuration in force. kUnavailable while the API server may still answer soon, or if
// nothing was kept; `why` says what is missing.
Result<ConfigChoice> ClusterSource::remembered(Error why) {
  why.code = Code::kUnavailable;
  if (waits()) return std::unexpected(std::move(why));
  auto choice = kept();
  if (!choice) return std::unexpected(std::move(why));
  return choice;
}

Result<ConfigChoice> ClusterSource::kept() {
  auto choice = memory_.load();
  if (!choice) {
    if (said_.is_news("kept", choice.error().message())) log_.warn(choice.error());
    return std::unexpected(std::move(choice).error());
  }
  if (!*choice) return fail(Code::kNotFound, "nothing was kept");
  stored_ = **choice;
  return **std::move(choice);
}

Result<config::Loaded> ClusterSource::last_good() {
  ASSIGN_OR_RETURN(auto choice, kept());
  return load(std::move(choice));
}

bool ClusterSource::waits() const {
  const bool failed = node_.failure() || (maps_ && maps_->failure());
  return !failed && clock_.now() - started_ < options_.patience;
}

Result<config::Loaded> ClusterSource::load(ConfigChoice choice) {
  ASSIGN_OR_RETURN(auto loaded, load_marked(choice));
  last_ = std::move(choice);
  return loaded;
}

// The kept text was read by an earlier process, and its mark would replace that of a refused one.
Result<config::Loaded> ClusterSource::load_marked(const ConfigChoice& choice) {
  const bool is_kept = stored_ && stored_->text == choice.text;
  if (!choice.text || is_kept || choice.text == survived_) return load_choice(choice, sources_);
  TRY(mark_.begin(*choice.text, choice.name));
  auto loaded = load_choice(choice, sources_);
  mark_.end();
  survived_ = choice.text;
  return loaded;
}

std::string ClusterSource::map_text() const {
  return fmt::format("ConfigMap {}/{}", options_.choice.map_namespace, options_.choice.map_name);
}

}  // namespace tranche::agent
