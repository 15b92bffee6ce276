// ResourceClaims as JSON.

#include "base/json_value.h"
#include "base/quantity.h"
#include "cluster/snapshot/writers.h"

namespace tranche::cluster {
namespace {

using Json = json::Value;

Json json_of(const AllocatedDevice& device) {
  Json json = {{"request", device.request},
               {"driver", device.driver},
               {"pool", device.pool},
               {"device", device.device}};
  set_text(json, "shareID", device.share_id);
  for (const auto& [name, amount] : device.consumed) {
    json["consumedCapacity"][name] = to_quantity(amount);
  }
  if (device.admin_access) json["adminAccess"] = true;
  return json;
}

Json json_of(const ClaimConfig& config) {
  Json json = {{"source", config.from_class ? "FromClass" : "FromClaim"},
               {"requests", config.requests},
               {"opaque", {{"driver", config.driver}}}};
  set_json(json["opaque"], "parameters", config.parameters);
  return json;
}

Json json_of(const ClaimConsumer& consumer) {
  return {{"resource", consumer.resource}, {"name", consumer.name}, {"uid", consumer.uid}};
}

Json allocation_of(const ResourceClaim& claim) {
  Json devices = {{"results", array_of(claim.devices, [](const AllocatedDevice& device) {
                     return json_of(device);
                   })}};
  if (!claim.configs.empty()) {
    devices["config"] =
        array_of(claim.configs, [](const ClaimConfig& config) { return json_of(config); });
  }
  return {{"devices", std::move(devices)}};
}

}  // namespace

Json json_of(const SnapshotClaim& value) {
  const auto& claim = value.claim;
  auto metadata = metadata_of(claim.key, claim.uid, claim.resource_version);
  set_text(metadata, "creationTimestamp", value.created);
  auto devices = Json::object();
  set_json(devices, "requests", value.requests);
  set_json(devices, "constraints", value.constraints);
  auto status = Json::object();
  if (claim.allocated) status["allocation"] = allocation_of(claim);
  if (!claim.reserved_for.empty()) {
    status["reservedFor"] = array_of(
        claim.reserved_for, [](const ClaimConsumer& consumer) { return json_of(consumer); });
  }
  return {{"metadata", std::move(metadata)},
          {"spec", {{"devices", std::move(devices)}}},
          {"status", std::move(status)}};
}

}  // namespace tranche::cluster
