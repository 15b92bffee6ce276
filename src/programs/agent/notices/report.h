#pragma once
// Describes what changed between two offers, one line per change, in the words of Events and
// commands.

#include <string>
#include <vector>

#include "holdings/holding.h"
#include "offer/grant_record.h"
#include "offer/offer.h"

namespace tranche::agent {

struct ReportLine {
  bool degraded = false;  // true: log as a warning; false: as a change of state
  std::string text;
  bool operator==(const ReportLine&) const = default;
};

// Lists resources that came, went or changed size, devices that became unhealthy or recovered,
// resources newly withheld, and new warnings.
std::vector<ReportLine> describe_changes(const offer::Offer& before, const offer::Offer& after);

// Those grants of which `held` names the container.
std::vector<offer::GrantRecord> in_use(std::vector<offer::GrantRecord> grants,
                                       const std::vector<holdings::Holding>& held);

// One line about grants whose tranches the offer no longer has (fewer replicas, another resource
// name); empty: none. Their containers keep what they were granted.
std::string describe_orphans(const std::vector<offer::GrantRecord>& grants,
                             const offer::Offer& offer);

// One line about grants from before their resource had limits; empty: none. Kubelet replays their
// mounts, so only a new Pod is limited.
std::string describe_unlimited(const std::vector<offer::GrantRecord>& grants,
                               const offer::Offer& offer);

// One line about grants for MPS that it serves differently now (another protocol, other SM
// partitions) or no longer; empty: none. Kubelet replays their environment, which no longer leads
// to a server.
std::string describe_stale_mps(const std::vector<offer::GrantRecord>& grants,
                               const offer::Offer& offer);

// One line about grants from before MPS served their resource; empty: none. MPS has the GPU to
// itself, so their processes get no context.
std::string describe_before_mps(const std::vector<offer::GrantRecord>& grants,
                                const offer::Offer& offer);

// One line about which resources are limited, and how.
std::string describe_limits(const config::Config& config);
// "strict: memory 4Gi, compute equal", "off", ...
std::string describe(const config::Limits& limits);

}  // namespace tranche::agent
