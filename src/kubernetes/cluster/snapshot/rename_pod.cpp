// Pods and claims without names.

#include <map>
#include <utility>

#include "cluster/snapshot/anonymous_json.h"
#include "cluster/snapshot/rename.h"

namespace tranche::cluster {
namespace {

void rename(const Renamer& renamer, PodContainer& container) {
  renamer.name(NameKind::kContainerName, container.name);
  for (const auto& [resource, count] : container.requests) renamer.word(resource);
  for (auto& claim : container.claims) {
    renamer.name(NameKind::kClaimName, claim.claim);
    renamer.request(claim.request);
  }
}

void rename(const Renamer& renamer, PodClaim& claim) {
  renamer.name(NameKind::kClaimName, claim.name);
  renamer.name(NameKind::kClaimName, claim.object);
  renamer.name(NameKind::kTemplateName, claim.claim_template);
}

void rename(const Renamer& renamer, ExtendedClaim& extended) {
  renamer.name(NameKind::kClaimName, extended.object);
  for (auto& use : extended.uses) {
    renamer.name(NameKind::kContainerName, use.container);
    renamer.request(use.request);
  }
}

void rename(const Renamer& renamer, Pod& pod) {
  renamer.name(NameKind::kNamespaceName, pod.ns);
  renamer.name(NameKind::kPodName, pod.name);
  renamer.uid(pod.uid);
  renamer.labels(pod.labels);
  rename_annotations(renamer, pod.annotations);
  renamer.owners(pod.owners);
  renamer.name(NameKind::kNodeName, pod.node);
  renamer.labels(pod.node_selector);
  renamer.name(NameKind::kObjectName, pod.scheduler);
  renamer.text(pod.reason);
  renamer.text(pod.message);
  renamer.text(pod.unschedulable);
  for (auto& container : pod.containers) rename(renamer, container);
  for (auto& claim : pod.claims) rename(renamer, claim);
  rename(renamer, pod.extended);
  renamer.word(pod.priority_class);
}

void rename(const Renamer& renamer, AllocatedDevice& device) {
  renamer.request(device.request);
  renamer.word(device.driver);
  renamer.name(NameKind::kNodeName, device.pool);
  renamer.device(device.device);
  renamer.uid(device.share_id);
}

}  // namespace

void rename(const Renamer& renamer, SnapshotPod& value) {
  rename(renamer, value.pod);
  for (auto& toleration : value.tolerations) renamer.label(toleration.key, toleration.value);
  rename_json(renamer, value.affinity);
}

void rename(const Renamer& renamer, SnapshotClaim& value) {
  auto& claim = value.claim;
  renamer.key(NameKind::kClaimName, claim.key);
  renamer.uid(claim.uid);
  for (auto& device : claim.devices) rename(renamer, device);
  for (auto& config : claim.configs) {
    for (auto& request : config.requests) renamer.request(request);
    rename_json(renamer, config.parameters);
  }
  for (auto& consumer : claim.reserved_for) {
    renamer.name(NameKind::kPodName, consumer.name);
    renamer.uid(consumer.uid);
  }
  rename_json(renamer, value.requests);
  rename_json(renamer, value.constraints);
}

void rename(const Renamer& renamer, DeviceClass& device_class) {
  renamer.word(device_class.name);
  renamer.word(device_class.extended_resource);
  rename_json(renamer, device_class.selectors);
}

}  // namespace tranche::cluster
