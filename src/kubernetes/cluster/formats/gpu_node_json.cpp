#include <fmt/format.h>

#include <initializer_list>
#include <utility>

#include "base/json_value.h"
#include "base/quantity.h"
#include "cluster/formats/gpu_node.h"
#include "cluster/to_json.h"

namespace tranche::cluster {
namespace {

void set_memory(json::Value& object, std::string_view key, const std::optional<Bytes>& amount) {
  if (amount) object[key] = to_quantity(amount->value);
}

void set_number(json::Value& object, std::string_view key, std::int64_t number) {
  if (number != 0) object[key] = number;
}

// The elements of lists.
json::Value json_of(const GpuNodeInstance& value);
json::Value json_of(const GpuNodeGpu& value);
json::Value json_of(const GpuNodeLink& value);
json::Value json_of(const GpuNodeDevice& value);
json::Value json_of(const GpuNodeResource& value);
json::Value json_of(const GpuNodeWithheld& value);
json::Value json_of(const GpuNodeHolding& value);
json::Value json_of(const GpuNodeReason& value);

template <class T>
json::Value array_of(const std::vector<T>& all) {
  auto list = json::Value::array();
  for (const auto& one : all) list.push_back(json_of(one));
  return list;
}

json::Value json_of(const GpuNodeInstance& instance) {
  json::Value json = {
      {"uuid", instance.uuid}, {"profile", instance.profile}, {"slot", instance.slot}};
  set_memory(json, "memory", instance.memory);
  set_text(json, "unhealthy", instance.unhealthy);
  return json;
}

json::Value json_of(const GpuNodeGpu& gpu) {
  json::Value json = {{"index", gpu.index}, {"uuid", gpu.uuid}, {"model", gpu.model}};
  set_text(json, "pci", gpu.pci);
  set_memory(json, "memory", gpu.memory);
  set_text(json, "mig", gpu.mig);
  if (gpu.instances) json["instances"] = array_of(*gpu.instances);
  set_number(json, "nvswitchLinks", gpu.nvswitch_links);
  set_text(json, "unhealthy", gpu.unhealthy);
  return json;
}

json::Value json_of(const GpuNodeLink& link) {
  json::Value json = {{"a", link.a}, {"b", link.b}, {"level", link.level}};
  set_number(json, "nvlinks", link.nvlinks);
  return json;
}

json::Value json_of(const GpuNodeDevice& device) {
  json::Value json = {{"uuid", device.uuid}, {"tranches", device.tranches}};
  set_number(json, "withheld", device.withheld);
  return json;
}

json::Value json_of(const GpuNodeResource& resource) {
  json::Value json = {{"name", resource.name},           {"sharing", resource.sharing},
                      {"tranches", resource.tranches},   {"healthy", resource.healthy},
                      {"unhealthy", resource.unhealthy}, {"withheld", resource.withheld}};
  json["devices"] = array_of(resource.devices);
  return json;
}

json::Value json_of(const GpuNodeWithheld& withheld) {
  json::Value json = {{"resource", withheld.resource}};
  if (!withheld.devices.empty()) json["devices"] = withheld.devices;
  json["reason"] = withheld.reason;
  return json;
}

json::Value json_of(const GpuNodePart& part) {
  auto json = json::Value::object();
  set_memory(json, "memory", part.memory);
  json["weight"] = part.weight;
  if (part.permille) json["permille"] = *part.permille;
  set_memory(json, "borrowsUpTo", part.borrows_up_to);
  set_text(json, "enforcer", part.enforcer);
  return json;
}

json::Value json_of(const GpuNodeHolding& holding) {
  auto json = json::Value::object();
  set_text(json, "device", holding.device);
  set_text(json, "gpu", holding.gpu);
  if (holding.part) json["part"] = json_of(*holding.part);
  json["wire"] = holding.wire;
  set_text(json, "resource", holding.resource);
  set_text(json, "id", holding.id);
  set_text(json, "claim", holding.claim);
  set_text(json, "request", holding.request);
  set_text(json, "tenant", holding.tenant);
  set_text(json, "namespace", holding.ns);
  set_text(json, "pod", holding.pod);
  set_text(json, "podUID", holding.pod_uid);
  set_text(json, "container", holding.container);
  json["use"] = holding.use;
  json["state"] = holding.state;
  return json;
}

json::Value json_of(const GpuNodeReason& reason) {
  return {{"about", reason.about}, {"message", reason.message}};
}

// `health` and `use` are what kubectl's columns show; they repeat the numbers.
json::Value json_of(const GpuNodeSummary& summary) {
  json::Value json = {{"gpus", summary.gpus}, {"healthyGPUs", summary.healthy_gpus}};
  set_text(json, "model", summary.model);
  json["tranches"] = summary.tranches;
  json["held"] = summary.held;
  json["health"] = fmt::format("{}/{}", summary.healthy_gpus, summary.gpus);
  json["use"] = fmt::format("{}/{}", summary.held, summary.tranches);
  return json;
}

json::Value json_of(const GpuNodeTruncated& truncated) {
  auto json = json::Value::object();
  set_number(json, "holdings", truncated.holdings);
  set_number(json, "links", truncated.links);
  set_number(json, "devices", truncated.devices);
  set_number(json, "withheld", truncated.withheld);
  set_number(json, "reasons", truncated.reasons);
  set_number(json, "instances", truncated.instances);
  set_number(json, "gpus", truncated.gpus);
  set_number(json, "resources", truncated.resources);
  return json;
}

json::Value json_of(const GpuNodeStatus& status) {
  auto json = json::Value::object();
  set_text(json, "agent", status.agent);
  if (status.mode) json["mode"] = name_of(*status.mode);
  set_text(json, "driver", status.driver);
  set_text(json, "cuda", status.cuda);
  json["summary"] = json_of(status.summary);
  json["gpus"] = array_of(status.gpus);
  json["links"] = array_of(status.links);
  json["resources"] = array_of(status.resources);
  json["withheld"] = array_of(status.withheld);
  json["holdings"] = array_of(status.holdings);
  json["reasons"] = array_of(status.reasons);
  if (status.truncated != GpuNodeTruncated()) json["truncated"] = json_of(status.truncated);
  return json;
}

}  // namespace

std::string to_json(const GpuNodeStatus& status) { return json_of(status).text(); }

std::string to_json(const GpuNode& node) {
  auto json = head_of(kGpuNode, {"", node.name}, node.uid, node.resource_version);
  if (!node.owners.empty()) json["metadata"]["ownerReferences"] = json_of(node.owners);
  if (node.status) json["status"] = json_of(*node.status);
  return json.text();
}

}  // namespace tranche::cluster
