#include "cluster/resource_claim.h"

#include <utility>

#include "cluster/fields.h"
#include "cluster/quantities.h"

namespace tranche::cluster {
namespace {

AllocatedDevice read_result(const Fields& result) {
  AllocatedDevice device{.request = result.text("request"),
                         .driver = result.text("driver"),
                         .pool = result.text("pool"),
                         .device = result.text("device"),
                         .share_id = result.text("shareID"),
                         .admin_access = result.boolean("adminAccess")};
  const auto consumed = result.object("consumedCapacity");
  for (const auto& one : consumed.view().members()) {
    device.consumed.emplace(one.key, read_amount(consumed, one.key));
  }
  return device;
}

ClaimConfig read_config(const Fields& config) {
  const auto opaque = config.object("opaque");
  ClaimConfig result{
      .from_class = config.text("source") == "FromClass",
      .requests =
          config.maybe<std::vector<std::string>>("requests").value_or(std::vector<std::string>()),
      .driver = opaque.text("driver"),
      .parameters = {}};
  if (const auto parameters = opaque.view().find("parameters")) {
    result.parameters = parameters->text();
  }
  return result;
}

}  // namespace

Result<ResourceClaim> parse_resource_claim(std::string_view json) {
  return read_object<ResourceClaim>(
      "ResourceClaim", json, [](const Fields& top, ResourceClaim& claim) {
        const auto metadata = top.object("metadata");
        claim.key = {metadata.text("namespace"), metadata.text("name")};
        claim.uid = metadata.text("uid");
        claim.resource_version = metadata.text("resourceVersion");
        const auto status = top.object("status");
        const auto allocation = status.view().find("allocation");
        claim.allocated = allocation && allocation->kind() == json::Kind::kObject;
        const auto devices = status.object("allocation").object("devices");
        for (const auto& result : devices.list("results")) {
          claim.devices.push_back(read_result(result));
        }
        for (const auto& config : devices.list("config")) {
          claim.configs.push_back(read_config(config));
        }
        for (const auto& consumer : status.list("reservedFor")) {
          claim.reserved_for.push_back({.resource = consumer.text("resource"),
                                        .name = consumer.text("name"),
                                        .uid = consumer.text("uid")});
        }
      });
}

}  // namespace tranche::cluster
