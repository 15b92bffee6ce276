// Annotations of ours without names.

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "cluster/formats/limit_settings.h"
#include "cluster/formats/mig_change.h"
#include "cluster/formats/policy_annotations.h"
#include "cluster/snapshot/anonymous_text.h"
#include "cluster/snapshot/rename.h"

namespace tranche::cluster {
namespace {

void rename(const Renamer& renamer, LimitSetting& setting) {
  renamer.name(NameKind::kNamespaceName, setting.ns);
  renamer.name(NameKind::kPodName, setting.pod);
  renamer.uid(setting.uid);
  renamer.name(NameKind::kContainerName, setting.container);
  if (!setting.resource.starts_with(kClaimPrefix)) return renamer.word(setting.resource);
  const auto name = setting.resource.substr(kClaimPrefix.size());
  auto claim = name.substr(0, name.find('/'));
  auto request = claim.size() == name.size() ? std::string() : name.substr(claim.size() + 1);
  renamer.name(NameKind::kClaimName, claim);
  renamer.request(request);
  setting.resource = claim_resource(claim, request);
}

std::string rename_settings(const Renamer& renamer, const std::string& text) {
  auto settings = decode_limit_settings(text);
  if (!settings) return {};
  for (auto& setting : *settings) rename(renamer, setting);
  return encode(*settings);
}

std::string rename_outcomes(const Renamer& renamer, const std::string& text) {
  auto outcomes = decode_limit_outcomes(text);
  if (!outcomes) return {};
  for (auto& outcome : *outcomes) {
    rename(renamer, outcome.setting);
    renamer.text(outcome.message);
    for (auto& device : outcome.devices) renamer.device(device.uuid);
  }
  return encode(*outcomes);
}

template <class Holder>
void rename_holder(const Renamer& renamer, Holder& holder) {
  renamer.name(NameKind::kNamespaceName, holder.ns);
  renamer.name(NameKind::kPodName, holder.name);
}

// Without the agent's journal, which nobody but it reads.
std::string rename_change(const Renamer& renamer, const std::string& text) {
  auto change = decode_mig_change(text);
  if (!change) return {};
  renamer.name(NameKind::kObjectName, change->id);
  if (!is_mig_name(change->layout)) renamer.name(NameKind::kConfigName, change->layout);
  for (auto& pod : change->pods) rename_holder(renamer, pod);
  decltype(change->why) why;
  for (const auto& [holder, words] : change->why) {
    auto pod = holder;
    auto reason = words;
    rename_holder(renamer, pod);
    renamer.text(reason);
    why.emplace(std::move(pod), std::move(reason));
  }
  change->why = std::move(why);
  renamer.text(change->waits_for);
  change->journal.clear();
  return encode(*change);
}

std::string rename_drain(const Renamer& renamer, const std::string& text) {
  auto drain = decode_mig_drain(text);
  if (!drain) return {};
  renamer.name(NameKind::kObjectName, drain->id);
  renamer.text(drain->reason);
  for (auto& pod : drain->pending) renamer.text(pod);
  for (auto& blocked : drain->blocked) {
    rename_holder(renamer, blocked.pod);
    renamer.text(blocked.why);
  }
  return encode(*drain);
}

std::string rename_config(const Renamer& renamer, std::string name) {
  if (!is_mig_name(name)) renamer.name(NameKind::kConfigName, name);
  return name;
}

std::string rename_id(const Renamer& renamer, std::string id) {
  renamer.name(kind_of_id(id, NameKind::kObjectName), id);
  return id;
}

std::string rename_words(const Renamer& renamer, std::string text) {
  renamer.text(text);
  return text;
}

struct Known {
  std::string_view name;
  std::string (*rename)(const Renamer& renamer, std::string text);
};

template <std::string (*read)(const Renamer&, const std::string&)>
std::string by_value(const Renamer& renamer, std::string text) {
  return read(renamer, text);
}

constexpr auto kKnown = std::to_array<Known>({
    {kLimitSettingsAnnotation, by_value<rename_settings>},
    {kLimitStatusAnnotation, by_value<rename_outcomes>},
    {kMigChangeAnnotation, by_value<rename_change>},
    {kMigDrainAnnotation, by_value<rename_drain>},
    {kMigCordonedAnnotation, rename_id},
    {kMigAcceptOutageAnnotation, rename_config},
    {kDefaultAnnotation, rename_config},
    {kFallbackAnnotation, rename_words},
    {kMigStrategyAnnotation, rename_words},
    {kWithholdAnnotation, rename_words},
    {"tranche.dev/memory", rename_words},
    {"tranche.dev/compute", rename_words},
    {"tranche.dev/class", rename_words},
    {"tranche.dev/gpu-memory", rename_words},
    {"tranche.dev/gpu-compute", rename_words},
    {"tranche.dev/gpu-together", rename_words},
    {"kubernetes.io/config.mirror", rename_id},
    {"kubernetes.io/config.hash", rename_id},
});

// "tranche.dev/gpu-memory.main": of one container.
std::string rename_key(const Renamer& renamer, const std::string& key) {
  for (const std::string_view head : {"tranche.dev/gpu-memory.", "tranche.dev/gpu-compute."}) {
    if (!key.starts_with(head)) continue;
    auto container = key.substr(head.size());
    renamer.name(NameKind::kContainerName, container);
    return std::string(head) + container;
  }
  return {};
}

}  // namespace

void rename_annotations(const Renamer& renamer, StringMap& annotations) {
  StringMap renamed;
  for (const auto& [key, text] : annotations) {
    if (const auto* known = std::ranges::find(kKnown, key, &Known::name); known != kKnown.end()) {
      auto written = known->rename(renamer, text);
      if (!written.empty() || text.empty()) renamed.emplace(key, std::move(written));
    } else if (auto of_container = rename_key(renamer, key); !of_container.empty()) {
      renamed.emplace(std::move(of_container), rename_words(renamer, text));
    }
  }
  if (!renamer.learns()) annotations = std::move(renamed);
}

}  // namespace tranche::cluster
