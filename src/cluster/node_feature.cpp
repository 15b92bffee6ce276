#include "cluster/node_feature.h"

#include "cluster/fields.h"
#include "cluster/to_json.h"

namespace tranche::cluster {

Result<NodeFeature> parse_node_feature(std::string_view json) {
  return read_object<NodeFeature>("NodeFeature", json, [](const Fields& top, NodeFeature& feature) {
    const auto metadata = top.object("metadata");
    feature.key = {metadata.text("namespace"), metadata.text("name")};
    feature.uid = metadata.text("uid");
    feature.resource_version = metadata.text("resourceVersion");
    const auto labels = metadata.map("labels");
    const auto node = labels.find(std::string(kNodeFeatureNodeLabel));
    if (node != labels.end()) feature.node = node->second;
    feature.owners = read_owners(metadata);
    feature.labels = top.object("spec").map("labels");
  });
}

std::string to_json(const NodeFeature& feature) {
  auto json = head_of(kNodeFeature, feature.key, feature.uid, feature.resource_version);
  auto& metadata = json["metadata"];
  metadata["labels"][std::string(kNodeFeatureNodeLabel)] = feature.node;
  if (!feature.owners.empty()) metadata["ownerReferences"] = json_of(feature.owners);
  const auto none = json::Value::object();
  json["spec"]["features"] = {{"flags", none}, {"attributes", none}, {"instances", none}};
  json["spec"]["labels"] = feature.labels;
  return json.text();
}

}  // namespace tranche::cluster
