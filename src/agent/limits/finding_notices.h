#pragma once
// What the arbiter found, in words for people: which Events stand about a node and its Pods, and
// which Pods are to be evicted. Pure.

#include <set>
#include <string>
#include <vector>

#include "cluster/eviction_requests.h"
#include "cluster/pod.h"
#include "cluster/standing_events.h"
#include "limit/arbiter_status.h"
#include "offer/offer.h"

namespace tranche::agent {

// For whom the configuration says `unregistered: evict`.
struct EvictPolicy {
  std::set<std::string> resources;
  std::set<std::string> devices;  // that such a resource has
  bool operator==(const EvictPolicy&) const = default;

  bool empty() const { return resources.empty(); }
};
EvictPolicy evict_policy(const offer::Offer& offer);

struct FindingNotices {
  cluster::StandingEvents::Events standing;
  std::vector<cluster::EvictionRequest> evictions;  // one a Pod, as they were found
};

// `pods`: of this node. A finding whose Pod is not among them is told of the node alone, and nobody
// is evicted for it.
FindingNotices describe_findings(const limit::ArbiterStatus& status,
                                 const std::vector<cluster::Pod>& pods, const EvictPolicy& policy,
                                 const std::string& node);

}  // namespace tranche::agent
