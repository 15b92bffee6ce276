#pragma once
// The parts that the to_json functions of this folder share. Included by .cpp files alone: it
// brings nlohmann's header along.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/kinds.h"
#include "cluster/metadata.h"
#include "cluster/object.h"

namespace tranche::cluster {

using OrderedJson = nlohmann::ordered_json;

// {apiVersion, kind, metadata {namespace, name, uid, resourceVersion}}, empty ones left out.
inline OrderedJson head_of(const Kind& kind, const ObjectKey& key, const std::string& uid = {},
                           const std::string& resource_version = {}) {
  OrderedJson metadata = OrderedJson::object();
  if (!key.ns.empty()) metadata["namespace"] = key.ns;
  metadata["name"] = key.name;
  if (!uid.empty()) metadata["uid"] = uid;
  if (!resource_version.empty()) metadata["resourceVersion"] = resource_version;
  return {{"apiVersion", kind.api_version()}, {"kind", kind.kind}, {"metadata", metadata}};
}

inline OrderedJson json_of(const std::vector<OwnerReference>& owners) {
  OrderedJson list = OrderedJson::array();
  for (const auto& owner : owners) {
    OrderedJson item = {{"apiVersion", owner.api_version},
                        {"kind", owner.kind},
                        {"name", owner.name},
                        {"uid", owner.uid}};
    if (owner.controller) item["controller"] = true;
    list.push_back(std::move(item));
  }
  return list;
}

// Texts come from outside: what is no UTF-8 is replaced, never thrown about.
inline std::string text_of(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace tranche::cluster
