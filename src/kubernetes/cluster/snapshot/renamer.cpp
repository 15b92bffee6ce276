#include "cluster/snapshot/renamer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cluster/snapshot/anonymous_text.h"

namespace tranche::cluster {
namespace {

std::string_view domain_of(std::string_view key) {
  const auto slash = key.find('/');
  return slash == std::string_view::npos ? std::string_view() : key.substr(0, slash);
}

bool says_no_name(const std::string& value) {
  return value.empty() || value == "true" || value == "false" || is_number(value) ||
         is_mig_name(value);
}

// NVIDIA's and our labels describe hardware and states, except those that somebody chose.
bool tells_hardware(std::string_view key) {
  static constexpr std::array<std::string_view, 6> kKeys = {
      "kubernetes.io/arch",      "kubernetes.io/os",      "node.kubernetes.io/instance-type",
      "beta.kubernetes.io/arch", "beta.kubernetes.io/os", "tranche.dev/mode"};
  if (std::ranges::find(kKeys, key) != kKeys.end()) return true;
  if (!key.starts_with("nvidia.com/") && !key.starts_with("tranche.dev/gpu")) return false;
  static constexpr std::array<std::string_view, 4> kChosen = {"config", "clique", "domain", "imex"};
  return std::ranges::none_of(kChosen, [&](auto part) { return key.contains(part); });
}

NameKind kind_of_value(std::string_view key) {
  if (key == "kubernetes.io/hostname" || key == "metadata.name") return NameKind::kNodeName;
  if (key == "kubernetes.io/metadata.name") return NameKind::kNamespaceName;
  if (key == "nvidia.com/device-plugin.config" || key == "nvidia.com/mig.config") {
    return NameKind::kConfigName;
  }
  return NameKind::kSomeValue;
}

NameKind kind_of_owner(std::string_view kind) {
  if (kind == "Node") return NameKind::kNodeName;
  return kind == "Pod" ? NameKind::kPodName : NameKind::kOwnerName;
}

}  // namespace

void Renamer::name(NameKind kind, std::string& name) const {
  if (learns()) return aliases_.learn(kind, name);
  name = aliases_.alias_of(kind, name);
}

void Renamer::key(NameKind kind, ObjectKey& key) const {
  name(NameKind::kNamespaceName, key.ns);
  name(kind, key.name);
}

void Renamer::device(std::string& id) const {
  const auto end = id.find("::");
  auto head = id.substr(0, end);
  if (is_device_of_ours(head)) return;
  name(kind_of_id(head, NameKind::kDeviceName), head);
  id = head + (end == std::string::npos ? "" : id.substr(end));
}

void Renamer::request(std::string& request) const {
  const auto slash = request.find('/');
  auto head = request.substr(0, slash);
  name(NameKind::kRequestName, head);
  if (slash == std::string::npos) return void(request = std::move(head));
  auto tail = request.substr(slash + 1);
  name(NameKind::kRequestName, tail);
  request = head + '/' + tail;
}

void Renamer::text(std::string& text) const {
  if (!learns()) text = anonymous_text(text, aliases_);
}

void Renamer::word(std::string_view word) const {
  if (!learns()) return;
  aliases_.learn_word(word);
  // A model of several words, and the label's spelling of it.
  while (!word.empty()) {
    const auto end = std::min(word.find(' '), word.size());
    if (end > 0) aliases_.learn_word(word.substr(0, end));
    word.remove_prefix(std::min(end + 1, word.size()));
  }
}

void Renamer::label(std::string& key, std::string& value) const {
  label_value(key, value);
  label_key(key);
}

void Renamer::label_key(std::string& key) const {
  if (is_public_domain(domain_of(key)) || key == "metadata.name") return;
  name(NameKind::kLabelKey, key);
}

void Renamer::label_value(std::string_view key, std::string& value) const {
  if (says_no_name(value)) return;
  if (tells_hardware(key)) return word(value);
  name(kind_of_value(key), value);
}

void Renamer::labels(StringMap& labels) const {
  StringMap renamed;
  for (const auto& [old_key, old_value] : labels) {
    auto key = old_key;
    auto value = old_value;
    label(key, value);
    renamed.emplace(std::move(key), std::move(value));
  }
  labels = std::move(renamed);
}

void Renamer::selector(LabelSelector& selector) const {
  labels(selector.match_labels);
  for (auto& expression : selector.match_expressions) {
    for (auto& value : expression.values) label_value(expression.key, value);
    label_key(expression.key);
  }
}

void Renamer::owners(std::vector<OwnerReference>& owners) const {
  for (auto& owner : owners) {
    name(kind_of_owner(owner.kind), owner.name);
    uid(owner.uid);
  }
}

}  // namespace tranche::cluster
