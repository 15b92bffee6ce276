// Forms older than requests (resource.k8s.io/v1alpha2, Kubernetes 1.26 to 1.30), and devices of
// v1beta1 ResourceSlices.

#include <fmt/format.h>

#include "explain/lint/dra.h"

namespace tranche::lint {
namespace {

yaml::Node map_of(std::string key, yaml::Node value) {
  auto map = map_node();
  map.entries.push_back({std::move(key), 0, std::move(value)});
  return map;
}

yaml::Node list_of(yaml::Node item) {
  auto list = list_node();
  list.items.push_back(std::move(item));
  return list;
}

// Parameters stored in another object cannot be read here.
void refuse_parameters(const Place& place) {
  if (const auto reference = place.child("parametersRef")) {
    reference->error(fmt::format("resource.k8s.io/v1 has no parametersRef (here to {} {})",
                                 shown(reference->text("kind")), shown(reference->text("name"))),
                     "write what that object says as selectors, or as config.opaque.parameters");
  }
}

// v1beta1: devices[].basic; v1alpha3: capacity without `value`.
void check_device(const Place& device) {
  if (device.map("basic")) {
    device.corrected("resource.k8s.io/v1 has no basic", "write what it holds beside name");
    for (auto& entry : device.take("basic").entries) {
      device.put(entry.key, std::move(entry.value));
    }
  }
  const auto capacity = device.map("capacity");
  if (!capacity) return;
  for (const auto& value : capacity->members()) {
    if (value.node().kind != yaml::Kind::kScalar) continue;
    value.corrected("a capacity is a mapping in resource.k8s.io/v1", "write value: below it");
    auto old = value.node();
    value.node() = map_of("value", std::move(old));
  }
}

}  // namespace

bool convert_classic_claim(const Place& spec) {
  const auto name = spec.child("resourceClassName");
  if (!name) return false;
  refuse_parameters(spec);
  spec.check_keys({"resourceClassName", "parametersRef", "allocationMode"});
  name->corrected("resource.k8s.io/v1 has no resourceClassName",
                  "write devices.requests, with the name of a DeviceClass below exactly:");
  auto request = map_of("name", word_node("device"));
  request.entries.push_back(
      {"exactly", 0,
       map_of("deviceClassName", text_node(name->node().scalar, name->node().quoted))});
  spec.take("resourceClassName");
  spec.take("allocationMode");
  spec.put("devices", map_of("requests", list_of(std::move(request))));
  return true;
}

void convert_resource_class(const Place& object) {
  refuse_parameters(object);
  if (const auto nodes = object.child("suitableNodes")) {
    nodes->error("resource.k8s.io/v1 has no suitableNodes",
                 "remove it, and select nodes in the Pods that claim");
  }
  object.check_keys({"apiVersion", "kind", "metadata", "driverName", "parametersRef",
                     "suitableNodes", "structuredParameters"});
  const auto driver = object.text("driverName");
  if (driver.empty() || driver.find_first_of("'\\\n") != std::string::npos) {
    object.error("resource.k8s.io/v1 has no ResourceClass", "write a DeviceClass");
    return;
  }
  const auto selector = fmt::format("device.driver == '{}'", driver);
  object.corrected("resource.k8s.io/v1 has no ResourceClass",
                   fmt::format("write a DeviceClass that selects {}", selector));
  object.put("apiVersion", word_node("resource.k8s.io/v1"));
  object.put("kind", word_node("DeviceClass"));
  object.take("driverName");
  object.take("structuredParameters");
  object.put("spec", map_of("selectors",
                            list_of(map_of("cel", map_of("expression", text_node(selector))))));
}

void check_slice_spec(const Place& spec) {
  spec.check_keys({"driver", "pool", "nodeName", "nodeSelector", "allNodes",
                   "perDeviceNodeSelection", "devices", "sharedCounters"});
  const auto devices = spec.list_of_maps("devices");
  for (const auto& device : devices) check_device(device);
  if (!devices.empty() && !spec.list_of_maps("sharedCounters").empty()) {
    spec.error("devices and sharedCounters stand in one ResourceSlice",
               "write sharedCounters into a slice of their own, of the same pool");
  }
}

}  // namespace tranche::lint
