#pragma once
// What changed between two offers, in words for the log: one line per change, the same words that
// events and commands will print.

#include <string>
#include <vector>

#include "offer/grant_record.h"
#include "offer/offer.h"

namespace tranche::agent {

struct ReportLine {
  bool degraded = false;  // for warn; else a plain change of state
  std::string text;
  bool operator==(const ReportLine&) const = default;
};

// Resources that came, went or changed size; devices that became unhealthy or recovered; resources
// newly withheld; warnings not said before.
std::vector<ReportLine> describe_changes(const offer::Offer& before, const offer::Offer& after);

// Grants whose tranches the offer no longer has (fewer replicas, another resource name), as one
// line; empty when there are none. Their containers keep what they were granted.
std::string describe_orphans(const std::vector<offer::GrantRecord>& grants,
                             const offer::Offer& offer);

// Grants given out before their resource had limits, as one line; empty when there are none.
// Kubelet replays their mounts, so only a new Pod is limited.
std::string describe_unlimited(const std::vector<offer::GrantRecord>& grants,
                               const offer::Offer& offer);

// Grants of resources that MPS serves otherwise than when they were given out (another protocol,
// other SM partitions), as one line; empty when there are none. Kubelet replays their environment,
// which leads nowhere now.
std::string describe_stale_mps(const std::vector<offer::GrantRecord>& grants,
                               const offer::Offer& offer);

// Which resources are limited, and how, as one line.
std::string describe_limits(const config::Config& config);
// "strict: memory 4Gi, compute equal", "off", ...
std::string describe(const config::Limits& limits);

}  // namespace tranche::agent
