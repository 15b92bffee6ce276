#include "cluster/node_feature.h"

#include <array>

#include "base/json.h"
#include "base/json_value.h"
#include "cluster/fields.h"
#include "cluster/object.h"
#include "cluster/to_json.h"

namespace tranche::cluster {
namespace {

constexpr std::array kFeatureKinds = {"flags", "attributes", "instances"};

bool says(const NodeFeature& now, const NodeFeature& wanted) {
  return now.node == wanted.node && now.labels == wanted.labels &&
         (wanted.owners.empty() || now.owners == wanted.owners);
}

// spec.features of the object, with the kinds that every NodeFeature must have.
json::Value features_of(const json::View& object) {
  const auto features = object.at({"spec", "features"});
  const bool there = features && features->kind() == json::Kind::kObject;
  auto value = there ? json::Value::copy(*features) : json::Value::object();
  for (const auto* kind : kFeatureKinds) {
    const auto one = there ? features->find(kind) : std::nullopt;
    if (!one || one->kind() != json::Kind::kObject) value[kind] = json::Value::object();
  }
  return value;
}

}  // namespace

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
  json["spec"]["features"] = features_of({});
  json["spec"]["labels"] = feature.labels;
  return json.text();
}

Result<std::optional<std::string>> with_feature(std::string_view json, const NodeFeature& wanted) {
  ASSIGN_OR_RETURN(const auto now, parse_node_feature(json));
  if (says(now, wanted)) return std::nullopt;
  const auto text = without_managed_fields(json);
  ASSIGN_OR_RETURN(const auto root, json::parse(text));
  auto value = json::Value::copy(root);
  auto& metadata = value["metadata"];
  metadata["labels"][kNodeFeatureNodeLabel] = wanted.node;
  if (!wanted.owners.empty()) metadata["ownerReferences"] = json_of(wanted.owners);
  value["spec"]["features"] = features_of(root);
  value["spec"]["labels"] = wanted.labels;
  return value.text();
}

}  // namespace tranche::cluster
