#include "agent/limits/device_parts.h"

#include <algorithm>
#include <utility>

#include "offer/room.h"

namespace tranche::agent {

std::set<std::string> holding_tenants(const std::vector<offer::GrantRecord>& grants) {
  std::map<std::pair<std::string, std::string>, std::string> last;  // by resource and id
  for (const auto& [grant, granted_at_ms] : grants) {
    for (const auto& id : grant.ids) {
      last.insert_or_assign({grant.resource.value, id}, grant.tenant);
    }
  }
  std::set<std::string> tenants;
  for (const auto& [key, tenant] : last) {
    if (!tenant.empty()) tenants.insert(tenant);
  }
  return tenants;
}

DeviceParts::DeviceParts(const std::vector<offer::GrantRecord>& grants,
                         const TenantStore& tenants) {
  for (const auto& id : holding_tenants(grants)) {
    if (const auto limits = tenants.get(id)) put(*limits);
  }
}

void DeviceParts::put(const limit::TenantLimits& limits) {
  for (const auto& part : limits.devices) {
    if (is_enforced(limits.enforcement)) {
      parts_[part.uuid].insert_or_assign(limits.id, part);
    } else {
      parts_[part.uuid].erase(limits.id);
    }
  }
}

limit::TenantLimits DeviceParts::as_far_as_it_fits(limit::TenantLimits wanted,
                                                   const offer::ResourceOffer& resource) const {
  for (auto& part : wanted.devices) {
    const auto device = std::ranges::find(resource.devices, part.uuid, &offer::Device::uuid);
    const auto known = parts_.find(part.uuid);
    if (device == resource.devices.end() || device->memory.value == 0 || known == parts_.end()) {
      continue;
    }
    const auto now = known->second.find(wanted.id);
    if (now == known->second.end()) continue;
    std::vector<DeviceLimits> others;
    for (const auto& [tenant, its] : known->second) {
      if (tenant != wanted.id) others.push_back(its);
    }
    part = offer::as_far_as_it_fits(now->second, std::move(part), others, device->memory);
  }
  return wanted;
}

}  // namespace tranche::agent
