#include "agent/limits/living_tenants.h"

#include <utility>

#include "agent/limits/mounted_names.h"
#include "process/liveness_file.h"

namespace tranche::agent {

LivingTenants::LivingTenants(FsRoot host, std::filesystem::path arbiter_dir, const Clock& clock)
    : host_(std::move(host)),
      arbiter_dir_(std::move(arbiter_dir)),
      clock_(clock),
      status_(arbiter_dir_) {}

Result<std::set<std::string>> LivingTenants::names() {
  ASSIGN_OR_RETURN(auto names, mounted_names(host_));
  read_status();
  for (const auto& tenant : status_.status().tenants) {
    if (tenant.processes > 0) names.insert(tenant.id);
  }
  // Ends with its process. Findings of other kinds stay after it, or are of a registered process.
  for (const auto& finding : status_.status().findings) {
    if (finding.kind == limit::Finding::Kind::kUnregistered) names.insert(finding.tenant);
  }
  return names;
}

// A killed arbiter leaves its status behind. FindingReporter logs why a status cannot be read.
void LivingTenants::read_status() {
  const auto alive = arbiter_dir_ / process::LivenessFile::kArbiters;
  const bool runs =
      !arbiter_dir_.empty() && process::LivenessFile::check(alive, clock_, "arbiter").has_value();
  if (!runs || !status_.refresh()) status_.forget();
}

}  // namespace tranche::agent
