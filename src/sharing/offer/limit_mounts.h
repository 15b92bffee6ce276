#pragma once
// What a limited container has mounted: the library, the file that has it loaded, and the folder of
// its tenant, by which it reaches the arbiter.

#include <string>
#include <string_view>
#include <vector>

#include "values/container_files.h"

namespace tranche::offer {

// Paths inside the container.
inline constexpr std::string_view kLibraryMount = "/usr/local/tranche/libtranche-limit.so";
inline constexpr std::string_view kPreloadMount = "/etc/ld.so.preload";
inline constexpr std::string_view kTenantMounts = "/run/tranche";

// The sources on the host of a limited container's mounts. They outlive the agent: kubelet replays
// the mounts at each restart of the container.
struct LimitMounts {
  std::string library;  // libtranche-limit.so
  std::string preload;  // a file for /etc/ld.so.preload that names it
  std::string tenants;  // the folder of the tenants' folders
  bool operator==(const LimitMounts&) const = default;
};

// All of a container's mounts for its tenant `tenant`. A container with several tenants has the
// first two once for each, which is the same.
std::vector<Mount> mounts_of(const LimitMounts& limits, std::string_view tenant);

}  // namespace tranche::offer
