#pragma once
// A ClusterPolicy (nvidia.com/v1, the GPU operator's), as far as this system obeys it, and the rest
// by name, so that what is not obeyed can be reported.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::cluster {

struct ClusterPolicy {
  std::string name;
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 0;
  // spec.devicePlugin; nullopt where the policy does not say.
  std::optional<bool> device_plugin_enabled;
  std::optional<std::string> config_name;  // config.name: a ConfigMap of the operator's namespace
  std::optional<std::string> config_default;  // config.default: a key of it
  std::optional<std::string> mig_strategy;    // spec.mig.strategy
  // devicePlugin.mps.root: a folder of the nodes, which Pods must have mounted to use it. So it is
  // compared with what was installed, not followed.
  std::optional<std::string> mps_root;
  // Other fields of spec that ask for something, in alphabetical order: "driver.enabled",
  // "daemonsets.tolerations" (lists are not entered). false, "", [] and {} ask for nothing, nor
  // does anything of a component with `enabled: false`.
  std::vector<std::string> other_fields;

  bool operator==(const ClusterPolicy&) const = default;
};

Result<ClusterPolicy> parse_cluster_policy(std::string_view json);

}  // namespace tranche::cluster
