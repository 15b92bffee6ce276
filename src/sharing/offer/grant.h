#pragma once
// What one container receives; made by offer/grant_maker.h. The texts are NVIDIA's, because users
// grep for them.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/resource_name.h"
#include "values/container_files.h"
#include "values/limits.h"

namespace tranche::offer {

struct Grant {
  config::ResourceName resource;
  std::vector<std::string> ids;  // as requested
  std::map<std::string, std::string> envs;
  std::vector<Mount> mounts;
  std::vector<DeviceNode> devices;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;  // qualified names
  // For a limited resource: its tenant (limits/v1), and the limits at the time of the grant. Either
  // both are present or neither. A grant stored by an earlier release has no `limits`.
  std::string tenant{};
  std::optional<GrantLimits> limits{};
  bool operator==(const Grant&) const = default;
};

// The CDI device that gives a limited container the runtime's hook (`runtimeHook`).
// cdi/limit_hook.h makes its specification.
inline constexpr std::string_view kHookDevice = "tranche.dev/limits=hook";

}  // namespace tranche::offer
