#include "offer/limit_mounts.h"

#include <fmt/format.h>

namespace tranche::offer {

std::vector<Mount> mounts_of(const LimitMounts& limits, std::string_view tenant) {
  return {{std::string(kLibraryMount), limits.library, true},
          {std::string(kPreloadMount), limits.preload, true},
          {fmt::format("{}/{}", kTenantMounts, tenant),
           fmt::format("{}/{}", limits.tenants, tenant), true}};
}

}  // namespace tranche::offer
