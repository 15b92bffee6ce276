#pragma once
// Turns the arbiter's findings into Events about the node and its Pods, and into the Pods to evict.
// Pure.

#include <set>
#include <string>
#include <vector>

#include "cluster/client/standing_events.h"
#include "cluster/formats/eviction_requests.h"
#include "cluster/pod.h"
#include "holdings/holding.h"
#include "limit/arbiter_status.h"
#include "offer/offer.h"

namespace tranche::agent {

// The resources for which the configuration says `unregistered: evict`.
struct EvictPolicy {
  std::set<std::string> resources;
  std::set<std::string> devices;  // UUIDs of the devices that such a resource has
  bool operator==(const EvictPolicy&) const = default;

  bool empty() const { return resources.empty(); }
};
EvictPolicy evict_policy(const offer::Offer& offer);

struct FindingNotices {
  cluster::StandingEvents::Events standing;
  std::vector<cluster::EvictionRequest> evictions;  // one per Pod, in the order of the findings
  std::vector<holdings::Holding> ungranted;         // for Book::observe()
};

// `pods`: the Pods of this node. A finding of any other Pod is reported on the node only, and leads
// to no eviction.
FindingNotices describe_findings(const limit::ArbiterStatus& status,
                                 const std::vector<cluster::Pod>& pods, const EvictPolicy& policy,
                                 const std::string& node);

}  // namespace tranche::agent
