#pragma once
// A NodeFeature (nfd.k8s-sigs.io/v1alpha1): labels that Node Feature Discovery's master puts on the
// node named by the object's label. Other features (flags, attributes, instances) are not read; a
// new object has them empty, as written by NVIDIA's feature discovery.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/metadata.h"
#include "cluster/object.h"

namespace tranche::cluster {

inline constexpr std::string_view kNodeFeatureNodeLabel = "nfd.node.kubernetes.io/node-name";

struct NodeFeature {
  ObjectKey key;  // "nvidia-features-for-<node>"
  std::string uid = {};
  std::string resource_version = {};
  std::string node = {};  // value of kNodeFeatureNodeLabel
  std::vector<OwnerReference> owners = {};
  StringMap labels = {};  // spec.labels

  bool operator==(const NodeFeature&) const = default;
};

Result<NodeFeature> parse_node_feature(std::string_view json);
// For create, update and apply: uid and resource_version only if set.
std::string to_json(const NodeFeature& feature);

// For an update: the object `json` with node, labels (all of spec.labels) and owners of `wanted`.
// Without owners in `wanted` the object keeps its own. Everything else is kept. nullopt: nothing to
// change.
Result<std::optional<std::string>> with_feature(std::string_view json, const NodeFeature& wanted);

}  // namespace tranche::cluster
