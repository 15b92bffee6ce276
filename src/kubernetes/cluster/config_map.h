#pragma once
// A ConfigMap (v1). binaryData is not read.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/metadata.h"
#include "cluster/object.h"

namespace tranche::cluster {

struct ConfigMap {
  ObjectKey key;
  std::string uid = {};
  std::string resource_version = {};
  StringMap labels = {};
  StringMap annotations = {};
  std::vector<OwnerReference> owners = {};
  StringMap data = {};

  bool operator==(const ConfigMap&) const = default;
};

Result<ConfigMap> parse_config_map(std::string_view json);
// For create, update and apply; uid and resource_version only if set.
std::string to_json(const ConfigMap& config_map);

}  // namespace tranche::cluster
