// Nodes, policies and the small objects without names.

#include "cluster/snapshot/rename.h"

#include <utility>

#include "cluster/kinds.h"

namespace tranche::cluster {
namespace {

constexpr const char* kMpsRoot = "/run/nvidia/mps";

void rename_resources(const Renamer& renamer, const StringMap& amounts) {
  for (const auto& [resource, amount] : amounts) {
    renamer.word(resource);
    renamer.word(std::string_view(resource).substr(resource.find('/') + 1));
  }
}

void rename(const Renamer& renamer, NodeCondition& condition) {
  renamer.text(condition.type);
  renamer.text(condition.reason);
  renamer.text(condition.message);
}

template <class Text>
void rename_optional(const Renamer& renamer, NameKind kind, Text& text) {
  if (text) renamer.name(kind, *text);
}

}  // namespace

void rename(const Renamer& renamer, SnapshotNode& value) {
  auto& node = value.node;
  renamer.name(NameKind::kNodeName, node.name);
  renamer.uid(node.uid);
  renamer.labels(node.labels);
  rename_annotations(renamer, node.annotations);
  for (auto& taint : node.taints) renamer.label(taint.key, taint.value);
  rename_resources(renamer, node.capacity);
  for (auto& condition : node.conditions) rename(renamer, condition);
  if (!value.configuration) return;
  if (value.configuration->origin) renamer.text(*value.configuration->origin);
  rename(renamer, value.configuration->condition);
}

void rename(const Renamer& renamer, ConfigMap& map) {
  renamer.key(NameKind::kConfigMapName, map.key);
  renamer.uid(map.uid);
  renamer.labels(map.labels);
  rename_annotations(renamer, map.annotations);
  renamer.owners(map.owners);
  StringMap data;
  for (const auto& [old_key, old_text] : map.data) {
    auto key = old_key;
    auto text = old_text;
    renamer.name(NameKind::kConfigName, key);
    rename_yaml(renamer, text);
    data.emplace(std::move(key), std::move(text));
  }
  map.data = std::move(data);
}

void rename(const Renamer& renamer, ClusterPolicy& policy) {
  renamer.name(NameKind::kObjectName, policy.name);
  renamer.uid(policy.uid);
  rename_optional(renamer, NameKind::kConfigMapName, policy.config_name);
  rename_optional(renamer, NameKind::kConfigName, policy.config_default);
  if (policy.mps_root && *policy.mps_root != kMpsRoot) renamer.text(*policy.mps_root);
  // Fields of the operator's own form. Below a free map a key may be a name.
  for (auto& field : policy.other_fields) {
    if (field.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.") !=
        std::string::npos) {
      renamer.text(field);
    }
  }
}

void rename(const Renamer& renamer, GpuTier& tier) {
  renamer.uid(tier.uid);
  if (tier.eligibility.node_selector) renamer.selector(*tier.eligibility.node_selector);
  for (const auto& model : tier.eligibility.models) renamer.word(model);
  renamer.text(tier.isolation);
  renamer.text(tier.support);
  for (auto& name : tier.namespaces.names) renamer.name(NameKind::kNamespaceName, name);
  if (tier.namespaces.selector) renamer.selector(*tier.namespaces.selector);
  for (auto& quota : tier.quotas) rename_optional(renamer, NameKind::kNamespaceName, quota.ns);
  for (auto& condition : tier.conditions) renamer.text(condition.message);
}

void rename(const Renamer& renamer, SnapshotNamespace& value) {
  renamer.name(NameKind::kNamespaceName, value.name);
  renamer.labels(value.labels);
}

void rename(const Renamer& renamer, ResourceQuota& quota) {
  renamer.key(NameKind::kObjectName, quota.key);
}

void rename(const Renamer& renamer, DisruptionBudget& budget) {
  renamer.key(NameKind::kObjectName, budget.key);
  if (budget.selector) renamer.selector(*budget.selector);
}

void rename(const Renamer& renamer, Gap& gap) {
  if (const auto slash = gap.name.find('/'); slash != std::string::npos) {
    ObjectKey key{gap.name.substr(0, slash), gap.name.substr(slash + 1)};
    renamer.key(
        gap.resource == kConfigMap.resource() ? NameKind::kConfigMapName : NameKind::kObjectName,
        key);
    gap.name = key.to_string();
  } else {
    renamer.name(gap.resource == kNode.resource() ? NameKind::kNodeName : NameKind::kObjectName,
                 gap.name);
  }
  renamer.text(gap.message);
}

}  // namespace tranche::cluster
