#pragma once
// The objects of a snapshot as JSON: in Kubernetes' own form, without apiVersion and kind, and with
// the fields that are kept and no others. encode() puts them into the file, SnapshotObjects gives
// them out. parts.h reads them.

#include <optional>
#include <string>
#include <string_view>

#include "base/json_value.h"
#include "cluster/metadata.h"
#include "cluster/object.h"
#include "cluster/snapshot/snapshot.h"
#include "cluster/to_json.h"

namespace tranche::cluster {

json::Value json_of(const NodeCondition& condition);
json::Value json_of(const Node& node);
json::Value json_of(const SnapshotPod& value);
json::Value json_of(const ConfigMap& map);
json::Value json_of(const ClusterPolicy& policy);  // spec, and `otherFields` as a member of its own
json::Value json_of(const GpuTier& tier);
json::Value json_of(const SnapshotNamespace& value);
json::Value json_of(const ResourceQuota& quota);
json::Value json_of(const DisruptionBudget& budget);
json::Value json_of(const ResourceSlice& slice);
json::Value json_of(const SnapshotClaim& value);
json::Value json_of(const DeviceClass& value);
json::Value json_of(const GpuNode& node);

// For the writers themselves.

// A member only where there is something to write.
void set_map(json::Value& object, const char* key, const StringMap& map);
// JSON text with its members in order. What is no JSON stays a text, which decode() refuses by
// name.
json::Value in_order(std::string_view text);
void set_json(json::Value& object, const char* key, const std::string& json);

json::Value metadata_of(const ObjectKey& key, const std::string& uid = {},
                        const std::string& resource_version = {});

template <class Range, class Write>
json::Value array_of(const Range& range, const Write& write) {
  auto array = json::Value::array();
  for (const auto& element : range) array.push_back(write(element));
  return array;
}

template <class T, class Write>
json::Value optional_of(const std::optional<T>& value, const Write& write) {
  return value ? write(*value) : json::Value(nullptr);
}

}  // namespace tranche::cluster
