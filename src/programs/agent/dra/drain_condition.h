#pragma once
// What people are told of claims that were prepared under a driver's name that is not served any
// more (agent/dra/drain_servers.h). Pure.

#include <set>
#include <string>
#include <vector>

#include "agent/node/condition_report.h"
#include "dra/prepared.h"

namespace tranche::agent {

enum class Serves { kYes, kNo };

// How this agent serves claims.
struct Serving {
  std::string driver;  // its present name
  Serves serves = Serves::kNo;
};

// The driver that prepared the claim. `now`: the driver's present name, for a record without one.
inline const std::string& driver_of(const dra::PreparedClaim& claim, const std::string& now) {
  return claim.driver.empty() ? now : claim.driver;
}
std::set<std::string> drivers_of(const std::vector<dra::PreparedClaim>& claims,
                                 const std::string& now);

// TrancheClaimsDrained is False while such claims are prepared, or one whose record cannot be read.
// `unreadable`: uids.
ConditionReport drain_condition(const std::vector<dra::PreparedClaim>& claims,
                                const std::set<std::string>& unreadable, const Serving& serving);

}  // namespace tranche::agent
