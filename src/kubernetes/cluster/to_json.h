#pragma once
// The parts that the to_json functions of this folder share.

#include <string>
#include <string_view>
#include <vector>

#include "base/json_value.h"
#include "cluster/kinds.h"
#include "cluster/metadata.h"
#include "cluster/object.h"

namespace tranche::cluster {

// A member only where there is something to write.
inline void set_text(json::Value& object, std::string_view key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

// {apiVersion, kind, metadata {namespace, name, uid, resourceVersion}}, omitting empty ones.
inline json::Value head_of(const Kind& kind, const ObjectKey& key, const std::string& uid = {},
                           const std::string& resource_version = {}) {
  json::Value metadata = json::Value::object();
  set_text(metadata, "namespace", key.ns);
  metadata["name"] = key.name;
  set_text(metadata, "uid", uid);
  set_text(metadata, "resourceVersion", resource_version);
  return {{"apiVersion", kind.api_version()}, {"kind", kind.kind}, {"metadata", metadata}};
}

inline json::Value json_of(const std::vector<OwnerReference>& owners) {
  json::Value list = json::Value::array();
  for (const auto& owner : owners) {
    json::Value item = {{"apiVersion", owner.api_version},
                        {"kind", owner.kind},
                        {"name", owner.name},
                        {"uid", owner.uid}};
    if (owner.controller) item["controller"] = true;
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace tranche::cluster
