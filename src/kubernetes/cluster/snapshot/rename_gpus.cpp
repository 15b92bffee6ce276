// What drivers and agents publish of their GPUs, without names.

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "cluster/snapshot/rename.h"

namespace tranche::cluster {
namespace {

// Their texts describe hardware. What other attributes describe is unknown.
bool tells_hardware_of_device(std::string_view attribute) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "type",     "productName",    "brand",    "architecture", "profile",
      "pcieRoot", "addressingMode", "pciBusID", "nvlinkIsland", "resource.kubernetes.io/pciBusID"};
  const auto name = attribute.substr(attribute.rfind('/') + 1);
  return std::ranges::find(kNames, name) != kNames.end();
}

void rename(const Renamer& renamer, SliceDevice& device) {
  renamer.device(device.name);
  for (const auto& [name, capacity] : device.capacity) renamer.word(name);
  for (auto& [name, value] : device.attributes) {
    renamer.word(std::string_view(name).substr(name.rfind('/') + 1));
    auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) continue;
    if (tells_hardware_of_device(name)) {
      renamer.word(*text);
    } else {
      renamer.name(kind_of_id(*text, NameKind::kSomeValue), *text);
    }
  }
  for (auto& use : device.consumes) renamer.device(use.name);
  for (auto& taint : device.taints) renamer.label(taint.key, taint.value);
}

void rename(const Renamer& renamer, GpuNodeGpu& gpu) {
  renamer.device(gpu.uuid);
  renamer.word(gpu.model);
  renamer.text(gpu.unhealthy);
  if (!gpu.instances) return;
  for (auto& instance : *gpu.instances) {
    renamer.device(instance.uuid);
    renamer.text(instance.unhealthy);
  }
}

void rename(const Renamer& renamer, GpuNodeResource& resource) {
  renamer.word(resource.name);
  for (auto& device : resource.devices) renamer.device(device.uuid);
}

void rename(const Renamer& renamer, GpuNodeWithheld& withheld) {
  renamer.word(withheld.resource);
  for (auto& device : withheld.devices) renamer.text(device);
  renamer.text(withheld.reason);
}

void rename(const Renamer& renamer, GpuNodeHolding& holding) {
  renamer.device(holding.device);
  renamer.device(holding.gpu);
  renamer.device(holding.id);
  renamer.name(NameKind::kClaimName, holding.claim);
  renamer.request(holding.request);
  renamer.name(NameKind::kTenantName, holding.tenant);
  renamer.name(NameKind::kNamespaceName, holding.ns);
  renamer.name(NameKind::kPodName, holding.pod);
  renamer.uid(holding.pod_uid);
  renamer.name(NameKind::kContainerName, holding.container);
}

}  // namespace

void rename(const Renamer& renamer, ResourceSlice& slice) {
  renamer.name(NameKind::kObjectName, slice.name);
  renamer.uid(slice.uid);
  renamer.owners(slice.owners);
  renamer.word(slice.driver);
  renamer.name(NameKind::kNodeName, slice.node);
  renamer.name(NameKind::kNodeName, slice.pool.name);
  for (auto& set : slice.counters) renamer.device(set.name);
  for (auto& device : slice.devices) rename(renamer, device);
}

void rename(const Renamer& renamer, GpuNode& node) {
  renamer.name(NameKind::kNodeName, node.name);
  renamer.uid(node.uid);
  renamer.owners(node.owners);
  if (!node.status) return;
  auto& status = *node.status;
  renamer.word(status.summary.model);
  for (auto& gpu : status.gpus) rename(renamer, gpu);
  for (auto& resource : status.resources) rename(renamer, resource);
  for (auto& withheld : status.withheld) rename(renamer, withheld);
  for (auto& holding : status.holdings) rename(renamer, holding);
  for (auto& reason : status.reasons) {
    renamer.text(reason.about);
    renamer.text(reason.message);
  }
}

}  // namespace tranche::cluster
