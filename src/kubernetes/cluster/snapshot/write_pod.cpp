// Pods and claims as JSON.

#include "base/json_value.h"
#include "cluster/snapshot/writers.h"

namespace tranche::cluster {
namespace {

using Json = json::Value;

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
    set_text(item, "request", claim.request);
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
  set_map(metadata, "labels", pod.labels);
  set_map(metadata, "annotations", pod.annotations);
  set_text(metadata, "creationTimestamp", value.created);
  metadata["ownerReferences"] =
      array_of(pod.owners, [](const OwnerReference& owner) { return json_of(owner); });
  // When is not kept: only that it is.
  if (pod.deleting) metadata["deletionTimestamp"] = "";
  return metadata;
}

Json spec_of(const SnapshotPod& value) {
  Json spec = {{"priority", value.priority},
               {"initContainers", containers_of(value.pod, true)},
               {"containers", containers_of(value.pod, false)}};
  set_text(spec, "nodeName", value.pod.node);
  set_text(spec, "schedulerName", value.pod.scheduler);
  set_text(spec, "priorityClassName", value.pod.priority_class);
  set_map(spec, "nodeSelector", value.pod.node_selector);
  spec["tolerations"] = array_of(value.tolerations, [](const Toleration& toleration) {
    Json item = Json::object();
    set_text(item, "key", toleration.key);
    set_text(item, "operator", toleration.op);
    set_text(item, "value", toleration.value);
    set_text(item, "effect", toleration.effect);
    return item;
  });
  set_json(spec, "affinity", value.affinity);
  spec["resourceClaims"] = array_of(value.pod.claims, [](const PodClaim& claim) {
    Json item = {{"name", claim.name}};
    if (claim.claim_template.empty()) set_text(item, "resourceClaimName", claim.object);
    set_text(item, "resourceClaimTemplateName", claim.claim_template);
    return item;
  });
  return spec;
}

}  // namespace

Json json_of(const SnapshotPod& value) {
  Json status = {{"phase", value.pod.phase}};
  set_text(status, "reason", value.pod.reason);
  set_text(status, "message", value.pod.message);
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

}  // namespace tranche::cluster
