#include "cluster/config_map.h"

#include "cluster/fields.h"
#include "cluster/to_json.h"

namespace tranche::cluster {

Result<ConfigMap> parse_config_map(std::string_view json) {
  return read_object<ConfigMap>("ConfigMap", json, [](const Fields& top, ConfigMap& map) {
    const auto metadata = top.object("metadata");
    map.key = {metadata.text("namespace"), metadata.text("name")};
    map.uid = metadata.text("uid");
    map.resource_version = metadata.text("resourceVersion");
    map.labels = metadata.map("labels");
    map.annotations = metadata.map("annotations");
    map.owners = read_owners(metadata);
    map.data = top.map("data");
  });
}

std::string to_json(const ConfigMap& config_map) {
  auto json = head_of(kConfigMap, config_map.key, config_map.uid, config_map.resource_version);
  auto& metadata = json["metadata"];
  if (!config_map.labels.empty()) metadata["labels"] = config_map.labels;
  if (!config_map.annotations.empty()) metadata["annotations"] = config_map.annotations;
  if (!config_map.owners.empty()) metadata["ownerReferences"] = json_of(config_map.owners);
  json["data"] = config_map.data;
  return json.text();
}

}  // namespace tranche::cluster
