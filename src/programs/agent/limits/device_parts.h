#pragma once
// The parts that the node's containers have of its devices now, as they are enforced: what a raised
// limit has to fit beside. A value, as of when it was read.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/limits/tenant_store.h"
#include "offer/grant_record.h"
#include "offer/offer.h"

namespace tranche::agent {

// The tenants that hold a tranche. One whose tranches were all granted again holds none any more,
// though its record is kept a while.
std::set<std::string> holding_tenants(const std::vector<offer::GrantRecord>& grants);

class DeviceParts {
 public:
  DeviceParts(const std::vector<offer::GrantRecord>& grants, const TenantStore& tenants);

  // The tenant has these from now on.
  void put(const limit::TenantLimits& limits);
  // `wanted`, with no device's part raised further than the parts of all others on it leave room.
  limit::TenantLimits as_far_as_it_fits(limit::TenantLimits wanted,
                                        const offer::ResourceOffer& resource) const;

 private:
  // By device and tenant.
  std::map<std::string, std::map<std::string, DeviceLimits>, std::less<>> parts_;
};

}  // namespace tranche::agent
