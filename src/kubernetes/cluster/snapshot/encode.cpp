// Snapshot -> text. Reading: snapshot_decode.cpp.

#include "base/canonical_json.h"
#include "base/envelope.h"
#include "base/json_value.h"
#include "cluster/snapshot/encoding.h"

namespace tranche::cluster {
namespace {

using Json = json::Value;

template <class Range, class Write>
Json array_of(const Range& range, const Write& write) {
  auto array = Json::array();
  for (const auto& element : range) array.push_back(write(element));
  return array;
}

template <class T, class Write>
Json optional_of(const std::optional<T>& value, const Write& write) {
  return value ? write(*value) : Json(nullptr);
}

void set(Json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

void set(Json& object, const char* key, const StringMap& map) {
  if (!map.empty()) object[key] = map;
}

Json metadata_of(const ObjectKey& key, const std::string& uid = {},
                 const std::string& resource_version = {}) {
  Json metadata = {{"name", key.name}};
  set(metadata, "namespace", key.ns);
  set(metadata, "uid", uid);
  set(metadata, "resourceVersion", resource_version);
  return metadata;
}

Json json_of(const NodeCondition& condition) {
  return {{"type", condition.type},
          {"status", condition.status},
          {"reason", condition.reason},
          {"message", condition.message}};
}

Json json_of(const Taint& taint) {
  return {{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}};
}

Json json_of(const Node& node) {
  Json json = {{"metadata", metadata_of({"", node.name}, node.uid, node.resource_version)}};
  set(json["metadata"], "labels", node.labels);
  set(json["metadata"], "annotations", node.annotations);
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

Json memory_of(const std::optional<Bytes>& memory) {
  return optional_of(memory, [](Bytes bytes) { return Json(bytes.value); });
}

Json json_of(const SnapshotMigInstance& instance) {
  return {{"uuid", instance.uuid},
          {"profile", instance.profile},
          {"memoryBytes", memory_of(instance.memory)}};
}

Json json_of(const SnapshotGpu& gpu) {
  return {{"uuid", gpu.uuid},
          {"model", gpu.model},
          {"memoryBytes", memory_of(gpu.memory)},
          {"migEnabled", optional_of(gpu.mig_enabled, [](bool on) { return Json(on); })},
          {"migInstances", optional_of(gpu.mig_instances, [](const auto& instances) {
             return array_of(instances, [](const auto& instance) { return json_of(instance); });
           })}};
}

Json json_of(const NodeConfiguration& configuration) {
  return {
      {"origin", optional_of(configuration.origin, [](const auto& text) { return Json(text); })},
      {"condition", json_of(configuration.condition)}};
}

Json json_of(const SnapshotNode& node) {
  return {{"node", json_of(node.node)},
          {"gpus", optional_of(node.gpus,
                               [](const auto& gpus) {
                                 return array_of(gpus,
                                                 [](const auto& gpu) { return json_of(gpu); });
                               })},
          {"configuration",
           optional_of(node.configuration, [](const auto& value) { return json_of(value); })}};
}

Json json_of(const OwnerReference& owner) {
  return {{"apiVersion", owner.api_version},
          {"kind", owner.kind},
          {"name", owner.name},
          {"uid", owner.uid},
          {"controller", owner.controller}};
}

Json json_of(const PodContainer& container) {
  Json json = {{"name", container.name}, {"resources", {{"requests", container.requests}}}};
  if (container.sidecar) json["restartPolicy"] = "Always";
  if (container.claims.empty()) return json;
  json["resources"]["claims"] = array_of(container.claims, [](const ContainerClaim& claim) {
    Json item = {{"name", claim.claim}};
    set(item, "request", claim.request);
    return item;
  });
  return json;
}

Json containers_of(const Pod& pod, bool init) {
  auto array = Json::array();
  for (const auto& container : pod.containers) {
    if (container.init == init) array.push_back(json_of(container));
  }
  return array;
}

Json pod_metadata_of(const SnapshotPod& value) {
  const auto& pod = value.pod;
  auto metadata = metadata_of({pod.ns, pod.name}, pod.uid, pod.resource_version);
  set(metadata, "labels", pod.labels);
  set(metadata, "annotations", pod.annotations);
  set(metadata, "creationTimestamp", value.created);
  metadata["ownerReferences"] =
      array_of(pod.owners, [](const OwnerReference& owner) { return json_of(owner); });
  // When is not kept: only that it is.
  if (pod.deleting) metadata["deletionTimestamp"] = "";
  return metadata;
}

// JSON text with its members in order. What is no JSON stays a text, which decode() refuses by
// name.
Json in_order(std::string_view text) {
  const auto parsed = json::parse(text);
  auto canonical = parsed ? json::canonical_text(*parsed) : std::nullopt;
  return canonical ? Json::raw(*std::move(canonical)) : Json(text);
}

Json spec_of(const SnapshotPod& value) {
  Json spec = {{"priority", value.priority},
               {"initContainers", containers_of(value.pod, true)},
               {"containers", containers_of(value.pod, false)}};
  set(spec, "nodeName", value.pod.node);
  set(spec, "schedulerName", value.pod.scheduler);
  set(spec, "priorityClassName", value.pod.priority_class);
  set(spec, "nodeSelector", value.pod.node_selector);
  spec["tolerations"] = array_of(value.tolerations, [](const Toleration& toleration) {
    Json item = Json::object();
    set(item, "key", toleration.key);
    set(item, "operator", toleration.op);
    set(item, "value", toleration.value);
    set(item, "effect", toleration.effect);
    return item;
  });
  if (!value.affinity.empty()) spec["affinity"] = in_order(value.affinity);
  spec["resourceClaims"] = array_of(value.pod.claims, [](const PodClaim& claim) {
    Json item = {{"name", claim.name}};
    if (claim.claim_template.empty()) set(item, "resourceClaimName", claim.object);
    set(item, "resourceClaimTemplateName", claim.claim_template);
    return item;
  });
  return spec;
}

Json json_of(const SnapshotPod& value) {
  Json status = {{"phase", value.pod.phase}};
  set(status, "reason", value.pod.reason);
  set(status, "message", value.pod.message);
  auto conditions = Json::array();
  if (!value.pod.unschedulable.empty()) {
    conditions.push_back(
        {{"type", "PodScheduled"}, {"status", "False"}, {"message", value.pod.unschedulable}});
  }
  if (value.pod.ready) conditions.push_back({{"type", "Ready"}, {"status", "True"}});
  if (!conditions.empty()) status["conditions"] = std::move(conditions);
  auto made = Json::array();
  for (const auto& [name, object, claim_template] : value.pod.claims) {
    if (claim_template.empty() || object.empty()) continue;
    made.push_back({{"name", name}, {"resourceClaimName", object}});
  }
  if (!made.empty()) status["resourceClaimStatuses"] = std::move(made);
  if (const auto& extended = value.pod.extended; !extended.object.empty()) {
    status["extendedResourceClaimStatus"] = {
        {"resourceClaimName", extended.object},
        {"requestMappings", array_of(extended.uses, [](const ExtendedUse& use) {
           return Json{{"containerName", use.container},
                       {"resourceName", use.resource},
                       {"requestName", use.request}};
         })}};
  }
  return {{"metadata", pod_metadata_of(value)}, {"spec", spec_of(value)}, {"status", status}};
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
  set(json["metadata"], "labels", value.labels);
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

Json json_of(const Gap& gap) {
  return {{"resource", gap.resource},
          {"name", gap.name},
          {"code", to_string(gap.code)},
          {"message", gap.message}};
}

std::string snapshot_text(const json::Value& value) {
  return value.text(json::Value::Order::kSorted);
}

template <class Range>
std::string list_text(const Range& values) {
  std::string text = "[";
  for (const auto& value : values) {
    if (text.size() > 1) text += ',';
    text += snapshot_text(json_of(value));
  }
  return text + ']';
}

std::string body_of(const Snapshot& snapshot) {
  return json::object_text({{"takenAt", snapshot_text(micro_time(snapshot.taken_at))},
                            {"server", snapshot_text(snapshot.server)},
                            {"takenBy", snapshot_text(snapshot.taken_by)},
                            {"nodes", list_text(snapshot.nodes)},
                            {"pods", list_text(snapshot.pods)},
                            {"configMaps", list_text(snapshot.config_maps)},
                            {"clusterPolicies", list_text(snapshot.cluster_policies)},
                            {"tiers", list_text(snapshot.tiers)},
                            {"namespaces", list_text(snapshot.namespaces)},
                            {"resourceQuotas", list_text(snapshot.quotas)},
                            {"disruptionBudgets", list_text(snapshot.budgets)},
                            {"gaps", list_text(snapshot.gaps)}});
}

}  // namespace

std::string encode(const Snapshot& snapshot) {
  return seal(kSnapshot, body_of(sorted(snapshot))) + "\n";
}

}  // namespace tranche::cluster
