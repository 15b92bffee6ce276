#pragma once
// `tranche limit list` shows the orders of all Nodes (cluster/formats/limit_settings.h); `tranche
// limit prune` removes from them the settings of Pods that are gone. Uses the objects port.

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/formats/limit_settings.h"
#include "cluster/objects.h"

namespace tranche::cli {

struct ListedLimit {
  std::string node;
  cluster::LimitOutcome outcome;
  bool gone = false;  // its Pod is gone or has ended
  bool operator==(const ListedLimit&) const = default;
};

struct LimitOverview {
  std::vector<ListedLimit> limits;  // by node
  // Problems to look at (exit code 1), one per line: a setting that is not in force, a Pod that is
  // gone, a Node whose order cannot be read. "": none.
  std::string finding;
};

// `ns`: only this namespace; "": all. Errors: those of the port.
Result<LimitOverview> list_limits(cluster::Objects& objects, const std::string& ns,
                                  const std::stop_token& stop = {});

// Returns the settings that were removed. A Node whose order cannot be read is a finding. Errors:
// those of the port.
Result<LimitOverview> prune_limits(cluster::Objects& objects, const std::stop_token& stop = {});

}  // namespace tranche::cli
