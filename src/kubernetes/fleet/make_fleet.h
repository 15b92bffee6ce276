#pragma once
// Makes the fleet of what Kubernetes knows and of what agents answered. Pure.

#include <map>
#include <memory>
#include <string>

#include "fleet/facts.h"
#include "fleet/fleet.h"
#include "fleet/tally.h"

namespace tranche::fleet {

// What is known of one agent.
struct Report {
  Reporting reporting = Reporting::kSilent;
  std::string why{};  // empty: it is fresh
  // Its last answer; null: it gave none.
  std::shared_ptr<const usage::NodeUsage> usage{};
};
using Reports = std::map<std::string, Report>;  // by node

// A node without a report is silent, because of `otherwise`.
Fleet make_fleet(const Facts& facts, const Reports& reports, cluster::WallTime now,
                 const std::string& otherwise = "its agent was not asked");

}  // namespace tranche::fleet
