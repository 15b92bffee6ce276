#pragma once
// The parts that the node's containers have of its devices now, as enforced: a raised limit has to
// fit next to these. A snapshot.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/limits/tenant_store.h"
#include "offer/grant_record.h"
#include "offer/offer.h"

namespace tranche::agent {

// The tenants that hold a tranche. A tenant whose tranches were all granted again holds none,
// though its record is kept for a while.
std::set<std::string> holding_tenants(const std::vector<offer::GrantRecord>& grants);

class DeviceParts {
 public:
  DeviceParts(const std::vector<offer::GrantRecord>& grants, const TenantStore& tenants);

  void put(const limit::TenantLimits& limits);
  // `wanted`, with each device's part raised at most as far as all others leave room.
  limit::TenantLimits as_far_as_it_fits(limit::TenantLimits wanted,
                                        const offer::ResourceOffer& resource) const;

 private:
  std::map<std::string, std::map<std::string, DeviceLimits>, std::less<>> parts_;
};

}  // namespace tranche::agent
