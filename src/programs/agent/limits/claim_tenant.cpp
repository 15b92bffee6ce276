#include "agent/limits/claim_tenant.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cluster/limit_settings.h"

namespace tranche::agent {
namespace {

bool is_started(const cluster::Pod& pod, const std::string& container) {
  return std::ranges::any_of(pod.container_ids,
                             [&](const auto& one) { return one.second == container; });
}

// What a container names: an empty request is all of the claim's.
bool is_meant(const ClaimRequest& named, const ClaimRequest& one) {
  return one.ns == named.ns && one.claim == named.claim &&
         (named.request.empty() || one.request == named.request);
}

bool has(const std::vector<ClaimRequest>& requests, const ClaimRequest& named) {
  return std::ranges::any_of(requests, [&](const auto& one) { return is_meant(named, one); });
}

// Adds what the requests of one resource come to; nothing if they are of another driver, or not
// prepared.
void add_use(const cluster::Pod& pod, const std::string& container, std::string resource,
             const std::vector<ClaimRequest>& requests, const NodeClaims& claims,
             std::vector<ClaimUse>& uses) {
  ClaimUse use{.ns = pod.ns,
               .pod = pod.name,
               .container = container,
               .resource = std::move(resource),
               .tenants = {}};
  for (const auto& named : requests) {
    for (const auto& tenant : claims.tenants) {
      if (has(tenant.requests, named)) use.tenants.push_back(tenant.id);
    }
    use.unlimited = use.unlimited || has(claims.unlimited, named);
  }
  if (!use.tenants.empty() || use.unlimited) uses.push_back(std::move(use));
}

void add_own(const cluster::Pod& pod, const cluster::PodContainer& container,
             const NodeClaims& claims, std::vector<ClaimUse>& uses) {
  for (const auto& [name, request] : container.claims) {
    const auto claim = std::ranges::find(pod.claims, name, &cluster::PodClaim::name);
    if (claim == pod.claims.end() || claim->object.empty()) continue;
    add_use(pod, container.name, cluster::claim_resource(name, request),
            {{pod.ns, claim->object, request}}, claims, uses);
  }
}

// Those of the claim that the scheduler made. It may have several requests for one resource.
void add_extended(const cluster::Pod& pod, const cluster::PodContainer& container,
                  const NodeClaims& claims, std::vector<ClaimUse>& uses) {
  std::map<std::string, std::vector<ClaimRequest>> requests;  // by resource
  for (const auto& use : pod.extended.uses) {
    if (use.container != container.name || use.request.empty()) continue;
    requests[use.resource].push_back({pod.ns, pod.extended.object, use.request});
  }
  for (const auto& [resource, named] : requests) {
    add_use(pod, container.name, resource, named, claims, uses);
  }
}

}  // namespace

std::vector<ClaimUse> claim_uses(const std::vector<cluster::Pod>& pods, const NodeClaims& claims) {
  std::vector<ClaimUse> uses;
  for (const auto& pod : pods) {
    for (const auto& container : pod.containers) {
      if (!is_started(pod, container.name)) continue;
      add_own(pod, container, claims, uses);
      add_extended(pod, container, claims, uses);
    }
  }
  return uses;
}

}  // namespace tranche::agent
