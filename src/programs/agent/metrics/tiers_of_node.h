#pragma once
// Which tier serves each container of this node: the cluster's GPUTiers, watched, and the Node's
// labels (cluster/formats/tier_match.h). Watches while it lives.

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/client/watch_cache.h"
#include "cluster/formats/tier_match.h"
#include "gpu/machine.h"
#include "usage/node_usage.h"

namespace tranche::agent {

// Sets the tier of each container; where none is certain, none. `node_labels` null: unknown.
void set_tiers(std::vector<usage::ContainerFigures>& containers, const gpu::Machine& machine,
               const cluster::TierMap& tiers, const cluster::StringMap* node_labels);

class TiersOfNode {
 public:
  // nullopt: unknown. Reading them is dear: a Node is long.
  using NodeLabels = std::function<std::optional<cluster::StringMap>()>;
  static constexpr std::chrono::seconds kReadLabelsEvery{10};
  // Where the kind is not served, a thousand nodes ask three times a second.
  static constexpr Backoff kSeldom{.longest = std::chrono::minutes(5)};

  TiersOfNode(cluster::Objects& objects, NodeLabels labels, const Clock& clock, const Log& log,
              Backoff backoff = kSeldom);

  // As set_tiers(). By one thread.
  void set(std::vector<usage::ContainerFigures>& containers, const gpu::Machine& machine);

 private:
  void take(const cluster::CacheChange& change);
  cluster::TierMap known() const;

  const NodeLabels read_labels_;
  const Clock& clock_;
  std::optional<cluster::StringMap> labels_;
  std::optional<std::chrono::steady_clock::time_point> labels_at_;
  mutable std::mutex mutex_;
  cluster::TierMap tiers_;     // those that can be read
  cluster::WatchCache cache_;  // last: its thread uses the others
};

}  // namespace tranche::agent
