#include "agent/dra/claim_tenants.h"

#include <map>
#include <utility>

#include "agent/dra/claim_mps.h"
#include "agent/dra/drain_condition.h"
#include "dra/claim_plan.h"
#include "dra/joint.h"
#include "offer/devices.h"

namespace tranche::agent {

namespace {

ClaimTenant tenant_of(const dra::PreparedClaim& claim, const dra::PreparedDevice& device,
                      const ClaimNode& node) {
  ClaimTenant tenant{.id = dra::tenant_of(claim, device),
                     .driver = driver_of(claim, node.facts.driver),
                     .limits = {},
                     .most = {},
                     .devices = {}};
  if (device.uuid.empty()) return tenant;
  tenant.limits = *device.limits;
  auto found = offer::find_device(node.machine, device.uuid);
  tenant.most = {dra::consumed_limits(device, found ? found->memory : Bytes{})};
  if (found) tenant.devices.push_back(*std::move(found));
  return tenant;
}

void join(ClaimTenant& tenant, const ClaimTenant& other) {
  dra::add_part(tenant.limits.devices.front(), other.limits.devices.front());
  dra::add_part(tenant.most.front(), other.most.front());
}

}  // namespace

std::vector<ClaimTenant> claim_tenants(const std::vector<dra::PreparedClaim>& claims,
                                       const ClaimNode& node) {
  std::vector<ClaimTenant> tenants;
  std::map<std::string, std::size_t> places;  // of a tenant in `tenants`
  for (const auto& claim : claims) {
    for (const auto& device : claim.devices) {
      if (!device.limits) continue;
      auto tenant = tenant_of(claim, device, node);
      const auto [place, is_new] = places.emplace(tenant.id, tenants.size());
      if (is_new) {
        tenants.push_back(std::move(tenant));
      } else {
        join(tenants[place->second], tenant);
      }
    }
  }
  for (auto& tenant : tenants) {
    const bool client = is_client(tenant.id, claims, node.enforcers);
    tenant.limits = offer::enforced_by(std::move(tenant.limits), node.enforcers, client);
    tenant.by_mps = offer::computes_by_mps(tenant.limits, node.enforcers, client);
    tenant.client = client;
  }
  return tenants;
}

}  // namespace tranche::agent
