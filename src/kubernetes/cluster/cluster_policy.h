#pragma once
// A ClusterPolicy (nvidia.com/v1, the GPU operator's): the fields that this system obeys, and the
// names of the rest, so that ignored fields can be reported.

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
  // spec.devicePlugin; nullopt if the policy does not set it.
  std::optional<bool> device_plugin_enabled;
  std::optional<std::string> config_name;  // config.name: a ConfigMap in the operator's namespace
  std::optional<std::string> config_default;  // config.default: one of its keys
  std::optional<std::string> mig_strategy;    // spec.mig.strategy
  // devicePlugin.mps.root: a host folder that Pods must have mounted to use it. So it is compared
  // with the installed one, not followed.
  std::optional<std::string> mps_root;
  // Other fields of spec that request something, in alphabetical order: "driver.enabled",
  // "daemonsets.tolerations" (lists are not entered). false, "", [] and {} request nothing, and
  // neither does anything in a component with `enabled: false`.
  std::vector<std::string> other_fields;

  bool operator==(const ClusterPolicy&) const = default;
};

Result<ClusterPolicy> parse_cluster_policy(std::string_view json);

}  // namespace tranche::cluster
