#include "agent/limits/living_tenants.h"

#include <utility>

#include "agent/limits/mounted_names.h"

namespace tranche::agent {

LivingTenants::LivingTenants(FsRoot host, const std::filesystem::path& arbiter_dir,
                             const Clock& clock)
    : host_(std::move(host)), arbiter_(arbiter_dir, clock) {}

Result<std::set<std::string>> LivingTenants::names() {
  ASSIGN_OR_RETURN(auto names, mounted_names(host_));
  arbiter_.refresh();
  for (const auto& tenant : arbiter_.status().tenants) {
    if (tenant.processes > 0) names.insert(tenant.id);
  }
  // Ends with its process. Findings of other kinds stay after it, or are of a registered process.
  for (const auto& finding : arbiter_.status().findings) {
    if (finding.kind == limit::Finding::Kind::kUnregistered) names.insert(finding.tenant);
  }
  return names;
}

}  // namespace tranche::agent
