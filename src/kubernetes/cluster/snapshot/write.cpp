// Nodes and the objects of which a snapshot keeps a few fields, as JSON.

#include "base/canonical_json.h"
#include "base/json_value.h"
#include "cluster/snapshot/writers.h"

namespace tranche::cluster {

using Json = json::Value;

void set_map(Json& object, const char* key, const StringMap& map) {
  if (!map.empty()) object[key] = map;
}

void set_json(Json& object, const char* key, const std::string& json) {
  if (!json.empty()) object[key] = in_order(json);
}

Json in_order(std::string_view text) {
  const auto parsed = json::parse(text);
  auto canonical = parsed ? json::canonical_text(*parsed) : std::nullopt;
  return canonical ? Json::raw(*std::move(canonical)) : Json(text);
}

Json metadata_of(const ObjectKey& key, const std::string& uid,
                 const std::string& resource_version) {
  Json metadata = {{"name", key.name}};
  set_text(metadata, "namespace", key.ns);
  set_text(metadata, "uid", uid);
  set_text(metadata, "resourceVersion", resource_version);
  return metadata;
}

Json json_of(const NodeCondition& condition) {
  return {{"type", condition.type},
          {"status", condition.status},
          {"reason", condition.reason},
          {"message", condition.message}};
}

namespace {

Json json_of(const Taint& taint) {
  return {{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}};
}

}  // namespace

Json json_of(const Node& node) {
  Json json = {{"metadata", metadata_of({"", node.name}, node.uid, node.resource_version)}};
  set_map(json["metadata"], "labels", node.labels);
  set_map(json["metadata"], "annotations", node.annotations);
  json["spec"] = {
      {"unschedulable", node.unschedulable},
      {"taints", array_of(node.taints, [](const Taint& taint) { return json_of(taint); })}};
  json["status"] = {{"capacity", node.capacity},
                    {"allocatable", node.allocatable},
                    {"conditions", array_of(node.conditions, [](const NodeCondition& condition) {
                       return json_of(condition);
                     })}};
  return json;
}

Json json_of(const ClusterPolicy& policy) {
  auto metadata = metadata_of({"", policy.name}, policy.uid, policy.resource_version);
  metadata["generation"] = policy.generation;
  auto spec = Json::object();
  if (policy.device_plugin_enabled) spec["devicePlugin"]["enabled"] = *policy.device_plugin_enabled;
  if (policy.config_name) spec["devicePlugin"]["config"]["name"] = *policy.config_name;
  if (policy.config_default) spec["devicePlugin"]["config"]["default"] = *policy.config_default;
  if (policy.mps_root) spec["devicePlugin"]["mps"]["root"] = *policy.mps_root;
  if (policy.mig_strategy) spec["mig"]["strategy"] = *policy.mig_strategy;
  return {{"metadata", metadata}, {"spec", spec}, {"otherFields", policy.other_fields}};
}

Json json_of(const SnapshotNamespace& value) {
  Json json = {{"metadata", metadata_of({"", value.name})}};
  set_map(json["metadata"], "labels", value.labels);
  return json;
}

Json json_of(const ResourceQuota& quota) {
  Json spec = {{"hard", quota.hard}, {"scopes", quota.scopes}};
  for (const auto& expression : quota.scope_expressions) {
    spec["scopeSelector"]["matchExpressions"].push_back({{"scopeName", expression.key},
                                                         {"operator", expression.op},
                                                         {"values", expression.values}});
  }
  return {{"metadata", metadata_of(quota.key)}, {"spec", spec}, {"status", {{"used", quota.used}}}};
}

Json json_of(const DisruptionBudget& budget) {
  auto spec = Json::object();
  if (budget.selector) spec["selector"] = Json::raw(to_json(*budget.selector));
  return {{"metadata", metadata_of(budget.key)},
          {"spec", spec},
          {"status", {{"disruptionsAllowed", budget.disruptions_allowed}}}};
}

Json json_of(const ConfigMap& map) { return in_order(to_json(map)); }
Json json_of(const GpuTier& tier) { return in_order(to_json(tier)); }
Json json_of(const ResourceSlice& slice) { return in_order(to_json(slice)); }
Json json_of(const GpuNode& node) { return in_order(to_json(node)); }

Json json_of(const DeviceClass& value) {
  Json json = {{"metadata", metadata_of({"", value.name})}, {"spec", Json::object()}};
  set_text(json["spec"], "extendedResourceName", value.extended_resource);
  set_json(json["spec"], "selectors", value.selectors);
  return json;
}

}  // namespace tranche::cluster
