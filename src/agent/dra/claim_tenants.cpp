#include "agent/dra/claim_tenants.h"

#include <utility>

#include "dra/claim_plan.h"
#include "offer/devices.h"

namespace tranche::agent {

std::vector<ClaimTenant> claim_tenants(const std::vector<dra::PreparedClaim>& claims,
                                       const gpu::Machine& machine, const std::string& driver) {
  std::vector<ClaimTenant> tenants;
  for (const auto& claim : claims) {
    for (const auto& device : claim.devices) {
      if (!device.limits) continue;
      ClaimTenant tenant{.id = dra::tenant_of(claim, device),
                         .driver = driver,
                         .requests = {{claim.ns, claim.name, device.request}},
                         .limits = {},
                         .most = {},
                         .devices = {}};
      if (!device.uuid.empty()) {
        tenant.limits = *device.limits;
        auto found = offer::find_device(machine, device.uuid);
        tenant.most = {dra::consumed_limits(device, found ? found->memory : Bytes{})};
        if (found) tenant.devices.push_back(*std::move(found));
      }
      tenants.push_back(std::move(tenant));
    }
  }
  return tenants;
}

}  // namespace tranche::agent
