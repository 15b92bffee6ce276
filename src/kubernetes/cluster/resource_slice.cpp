#include "cluster/resource_slice.h"

#include <utility>

#include "base/json_value.h"
#include "base/quantity.h"
#include "cluster/fields.h"
#include "cluster/kinds.h"
#include "cluster/quantities.h"
#include "cluster/to_json.h"

namespace tranche::cluster {
namespace {

json::Value json_of(const DeviceAttribute& attribute) {
  struct Writer {
    json::Value operator()(const std::string& text) const { return {{"string", text}}; }
    json::Value operator()(std::int64_t number) const { return {{"int", number}}; }
    json::Value operator()(bool truth) const { return {{"bool", truth}}; }
    json::Value operator()(const SemanticVersion& version) const {
      return {{"version", version.text}};
    }
  };
  return std::visit(Writer(), attribute);
}

json::Value json_of(const DeviceCapacity& capacity) {
  json::Value json = {{"value", to_quantity(capacity.value)}};
  if (!capacity.policy) return json;
  const auto& policy = *capacity.policy;
  json["requestPolicy"] = {{"default", to_quantity(policy.otherwise)},
                           {"validRange",
                            {{"min", to_quantity(policy.min)},
                             {"max", to_quantity(policy.max)},
                             {"step", to_quantity(policy.step)}}}};
  return json;
}

json::Value json_of(const Counters& counters) {
  json::Value json = json::Value::object();
  for (const auto& [name, value] : counters) json[name]["value"] = to_quantity(value);
  return json;
}

json::Value json_of(const DeviceTaint& taint) {
  json::Value json = {{"key", taint.key}};
  if (!taint.value.empty()) json["value"] = taint.value;
  json["effect"] = taint.effect;
  if (!taint.since.empty()) json["timeAdded"] = taint.since;
  return json;
}

json::Value json_of(const SliceDevice& device) {
  json::Value json = {{"name", device.name}};
  for (const auto& [name, value] : device.attributes) json["attributes"][name] = json_of(value);
  for (const auto& [name, value] : device.capacity) json["capacity"][name] = json_of(value);
  for (const auto& use : device.consumes) {
    json["consumesCounters"].push_back(
        {{"counterSet", use.name}, {"counters", json_of(use.counters)}});
  }
  for (const auto& taint : device.taints) json["taints"].push_back(json_of(taint));
  if (device.shareable) json["allowMultipleAllocations"] = true;
  return json;
}

std::optional<DeviceAttribute> read_attribute(const Fields& value) {
  if (auto text = value.maybe_text("string")) return *std::move(text);
  if (value.has("int")) return value.number("int");
  if (auto truth = value.maybe_boolean("bool")) return *truth;
  if (auto version = value.maybe_text("version")) return SemanticVersion{*std::move(version)};
  return std::nullopt;  // of a kind that came after this release
}

DeviceCapacity read_capacity(const Fields& value) {
  DeviceCapacity capacity{.value = read_amount(value, "value")};
  if (!value.has("requestPolicy")) return capacity;
  const auto policy = value.object("requestPolicy");
  const auto range = policy.object("validRange");
  capacity.policy = {.otherwise = read_amount(policy, "default"),
                     .min = read_amount(range, "min"),
                     .max = read_amount(range, "max"),
                     .step = read_amount(range, "step")};
  return capacity;
}

CounterSet read_counters(const Fields& set, std::string_view name) {
  CounterSet result{.name = set.text(name), .counters = {}};
  const auto counters = set.object("counters");
  for (const auto& one : counters.view().members()) {
    result.counters[one.key] = read_amount(counters.object(one.key), "value");
  }
  return result;
}

SliceDevice read_device(const Fields& fields) {
  SliceDevice device{.name = fields.text("name")};
  const auto attributes = fields.object("attributes");
  for (const auto& one : attributes.view().members()) {
    if (auto read = read_attribute(attributes.object(one.key))) {
      device.attributes.emplace(one.key, *std::move(read));
    }
  }
  const auto capacity = fields.object("capacity");
  for (const auto& one : capacity.view().members()) {
    device.capacity.emplace(one.key, read_capacity(capacity.object(one.key)));
  }
  for (const auto& use : fields.list("consumesCounters")) {
    device.consumes.push_back(read_counters(use, "counterSet"));
  }
  for (const auto& taint : fields.list("taints")) {
    device.taints.push_back({.key = taint.text("key"),
                             .value = taint.text("value"),
                             .effect = taint.text("effect"),
                             .since = taint.text("timeAdded")});
  }
  device.shareable = fields.boolean("allowMultipleAllocations");
  return device;
}

}  // namespace

Result<ResourceSlice> parse_resource_slice(std::string_view json) {
  return read_object<ResourceSlice>("ResourceSlice", json,
                                    [](const Fields& top, ResourceSlice& slice) {
                                      const auto metadata = top.object("metadata");
                                      slice.name = metadata.text("name");
                                      slice.uid = metadata.text("uid");
                                      slice.resource_version = metadata.text("resourceVersion");
                                      slice.owners = read_owners(metadata);
                                      const auto spec = top.object("spec");
                                      slice.driver = spec.text("driver");
                                      slice.node = spec.text("nodeName");
                                      const auto pool = spec.object("pool");
                                      slice.pool = {.name = pool.text("name"),
                                                    .generation = pool.number("generation"),
                                                    .slices = pool.number("resourceSliceCount")};
                                      for (const auto& set : spec.list("sharedCounters")) {
                                        slice.counters.push_back(read_counters(set, "name"));
                                      }
                                      for (const auto& device : spec.list("devices")) {
                                        slice.devices.push_back(read_device(device));
                                      }
                                    });
}

std::string to_json(const ResourceSlice& slice) {
  auto json = head_of(kResourceSlice, {"", slice.name}, slice.uid, slice.resource_version);
  if (!slice.owners.empty()) json["metadata"]["ownerReferences"] = json_of(slice.owners);
  auto& spec = json["spec"];
  spec["driver"] = slice.driver;
  spec["nodeName"] = slice.node;
  spec["pool"] = {{"name", slice.pool.name},
                  {"generation", slice.pool.generation},
                  {"resourceSliceCount", slice.pool.slices}};
  for (const auto& set : slice.counters) {
    spec["sharedCounters"].push_back({{"name", set.name}, {"counters", json_of(set.counters)}});
  }
  for (const auto& device : slice.devices) spec["devices"].push_back(json_of(device));
  return json.text();
}

}  // namespace tranche::cluster
