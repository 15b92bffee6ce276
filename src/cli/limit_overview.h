#pragma once
// `tranche limit list` shows the orders of all Nodes (cluster/limit_settings.h); `tranche limit
// prune` removes from them the settings of Pods that are gone. Uses the objects port.

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/limit_settings.h"
#include "cluster/objects.h"

namespace tranche::cli {

struct ListedLimit {
  std::string node;
  cluster::LimitOutcome outcome;
  bool gone = false;  // its Pod is, or has ended
  bool operator==(const ListedLimit&) const = default;
};

struct LimitOverview {
  std::vector<ListedLimit> limits;  // by node
  // Something to look at (exit code 1): a setting that is not in force, a Pod that is gone, a Node
  // whose order cannot be read, one a line. "": fine.
  std::string finding;
};

// `ns`: only of this namespace; "": of all. Errors: the port's.
Result<LimitOverview> list_limits(cluster::Objects& objects, const std::string& ns,
                                  const std::stop_token& stop = {});

// The settings that were removed; a Node whose order cannot be read is a finding. Errors: the
// port's.
Result<LimitOverview> prune_limits(cluster::Objects& objects, const std::stop_token& stop = {});

}  // namespace tranche::cli
