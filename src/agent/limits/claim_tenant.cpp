#include "agent/limits/claim_tenant.h"

#include <algorithm>

#include "cluster/limit_settings.h"

namespace tranche::agent {
namespace {

bool is_started(const cluster::Pod& pod, const std::string& container) {
  return std::ranges::any_of(pod.container_ids,
                             [&](const auto& one) { return one.second == container; });
}

// `request`: empty: all of the claim's.
std::vector<std::string> tenants_of(const std::string& ns, const std::string& claim,
                                    const std::string& request,
                                    const std::vector<ClaimTenant>& tenants) {
  std::vector<std::string> found;
  for (const auto& tenant : tenants) {
    const bool is_its = std::ranges::any_of(tenant.requests, [&](const ClaimRequest& one) {
      return one.ns == ns && one.claim == claim && (request.empty() || one.request == request);
    });
    if (is_its) found.push_back(tenant.id);
  }
  return found;
}

}  // namespace

std::vector<ClaimUse> claim_uses(const std::vector<cluster::Pod>& pods,
                                 const std::vector<ClaimTenant>& tenants) {
  std::vector<ClaimUse> uses;
  for (const auto& pod : pods) {
    for (const auto& container : pod.containers) {
      if (container.claims.empty() || !is_started(pod, container.name)) continue;
      for (const auto& [name, request] : container.claims) {
        const auto claim = std::ranges::find(pod.claims, name, &cluster::PodClaim::name);
        if (claim == pod.claims.end() || claim->object.empty()) continue;
        auto its = tenants_of(pod.ns, claim->object, request, tenants);
        if (its.empty()) continue;
        uses.push_back({.ns = pod.ns,
                        .pod = pod.name,
                        .container = container.name,
                        .resource = cluster::claim_resource(name, request),
                        .tenants = std::move(its)});
      }
    }
  }
  return uses;
}

}  // namespace tranche::agent
