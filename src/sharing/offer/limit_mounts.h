#pragma once
// What is mounted into a limited container: the library, the file that preloads it, and its
// tenant's folder, through which it reaches the arbiter.

#include <string>
#include <string_view>
#include <vector>

#include "values/container_files.h"

namespace tranche::offer {

// Paths inside the container.
inline constexpr std::string_view kLibraryMount = "/usr/local/tranche/libtranche-limit.so";
inline constexpr std::string_view kPreloadMount = "/etc/ld.so.preload";
inline constexpr std::string_view kTenantMounts = "/run/tranche";

// The sources on the host of a limited container's mounts. They must outlive the agent: kubelet
// replays the mounts at each restart of the container.
struct LimitMounts {
  std::string library;  // libtranche-limit.so
  std::string preload;  // a file for /etc/ld.so.preload that lists the library
  std::string tenants;  // the folder that contains the tenants' folders
  bool operator==(const LimitMounts&) const = default;
};

// All mounts of a container for its tenant `tenant`. A container with several tenants has the first
// two once per tenant, with the same result.
std::vector<Mount> mounts_of(const LimitMounts& limits, std::string_view tenant);

}  // namespace tranche::offer
