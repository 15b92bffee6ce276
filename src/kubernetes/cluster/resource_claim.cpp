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

std::vector<std::string> read_selectors(const Fields& owner) {
  std::vector<std::string> expressions;
  for (const auto& selector : owner.list("selectors")) {
    expressions.push_back(selector.object("cel").text("expression"));
  }
  return expressions;
}

void read_for_all(const Fields& request, std::string name, std::vector<RequestForAll>& all) {
  if (request.text("allocationMode") != "All" || request.boolean("adminAccess")) return;
  RequestForAll result{.name = std::move(name),
                       .device_class = request.text("deviceClassName"),
                       .selectors = read_selectors(request),
                       .capacities = {}};
  const auto amounts = request.object("capacity").object("requests");
  for (const auto& one : amounts.view().members()) result.capacities.push_back(one.key);
  all.push_back(std::move(result));
}

std::vector<RequestForAll> read_for_all(const Fields& spec) {
  std::vector<RequestForAll> all;
  for (const auto& request : spec.object("devices").list("requests")) {
    const auto name = request.text("name");
    read_for_all(request.object("exactly"), name, all);
    for (const auto& choice : request.list("firstAvailable")) {
      read_for_all(choice, name + '/' + choice.text("name"), all);
    }
  }
  return all;
}

}  // namespace

Result<std::vector<std::string>> parse_class_selectors(std::string_view json) {
  return read_object<std::vector<std::string>>(
      "DeviceClass", json, [](const Fields& top, std::vector<std::string>& selectors) {
        selectors = read_selectors(top.object("spec"));
      });
}

Result<ResourceClaim> parse_resource_claim(std::string_view json) {
  return read_object<ResourceClaim>(
      "ResourceClaim", json, [](const Fields& top, ResourceClaim& claim) {
        const auto metadata = top.object("metadata");
        claim.key = {metadata.text("namespace"), metadata.text("name")};
        claim.uid = metadata.text("uid");
        claim.resource_version = metadata.text("resourceVersion");
        claim.for_all = read_for_all(top.object("spec"));
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
