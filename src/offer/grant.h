#pragma once
// What one container receives (offer/grant_maker.h makes it). Wire texts are NVIDIA's (users grep
// for them).

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
  // Of a limited resource: its tenant (limits/v1), and what the container was promised when it was
  // granted. Both are there or neither; a grant that was stored before has no `limits`.
  std::string tenant{};
  std::optional<GrantLimits> limits{};
  bool operator==(const Grant&) const = default;
};

// Inside the container.
inline constexpr std::string_view kLibraryMount = "/usr/local/tranche/libtranche-limit.so";
inline constexpr std::string_view kPreloadMount = "/etc/ld.so.preload";
inline constexpr std::string_view kTenantMounts = "/run/tranche";

// The CDI device by which a limited container gets the runtime's hook (`runtimeHook`): its
// specification is cdi/limit_hook.h's.
inline constexpr std::string_view kHookDevice = "tranche.dev/limits=hook";

}  // namespace tranche::offer
